/** `dashboard`: the web page of this repository's runs. */
import { hostname, userInfo } from "node:os";
import { Git } from "../../git/git.js";
import { openDashboard } from "../../web/dashboard.js";
import { openInBrowser } from "../browser.js";
import { EXIT } from "../exit.js";
import { findRun } from "../found-run.js";
import { printFailure } from "../print-failure.js";
import { sayAway, storeHere } from "../store-here.js";
import { repositoryTop } from "../top.js";

export interface DashboardFlags {
  port?: string;
  open?: boolean;
  json?: boolean;
}

export async function dashboardCommand(named: string | undefined, flags: DashboardFlags): Promise<number> {
  const json = flags.json === true;
  const top = await repositoryTop();
  if (!top.ok) return printFailure(top.failure, json);
  const found = named === undefined ? undefined : await findRun(named, flags);
  if (found !== undefined && !found.ok) return printFailure(found.failure, json);
  const port = Number(flags.port ?? 0);
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    return printFailure({ type: "usage", what: `${flags.port} is no port.`, fix: "Give a number up to 65535." }, json);
  const { store, away } = await storeHere(top.value, flags);
  if (named === undefined) sayAway(away);
  const dashboard = await openDashboard(store, new Git(top.value), port).catch((error: NodeJS.ErrnoException) => error);
  if (dashboard instanceof Error)
    return printFailure(
      {
        type: "usage",
        what: `Port ${port} cannot be used: ${dashboard.code}.`,
        fix: "Leave --port out, or take another.",
      },
      json,
    );
  const link = `${dashboard.link}${named === undefined ? "" : `#/run/${encodeURIComponent(found?.value.run ?? named)}`}`;
  const { port: own } = new URL(dashboard.url);
  console.log(
    json
      ? JSON.stringify({ link })
      : `${link}
Ctrl-C ends it. The link is for you alone: it holds a token.
It is on this machine only, because whoever opens it steers agents that work as you. From another one:
  ssh -N -L ${own}:127.0.0.1:${own} ${userInfo().username}@${hostname()}   then open the same link there`,
  );
  if (flags.open !== false && process.stdout.isTTY) void openInBrowser(link);
  await new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => resolve());
  });
  await dashboard.close();
  return EXIT.done;
}
