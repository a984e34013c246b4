/** A server of its own for the runs of a repository: past ones are shown, live ones steered. */
import { randomBytes } from "node:crypto";
import type { AddressInfo } from "node:net";
import { Hono } from "hono";
import { listen } from "../engine/door.js";
import { type Guarded, guard } from "../engine/guard.js";
import type { Git } from "../git/git.js";
import { isLineLost } from "../store/postgres/database.js";
import type { Store } from "../store/store.js";
import { mountPage } from "./routes.js";
import { Runs } from "./runs.js";

export interface Dashboard {
  /** With the token in it: good for whoever opens it. */
  link: string;
  url: string;
  close(): Promise<void>;
}

export async function openDashboard(store: Store, git: Git, port: number): Promise<Dashboard> {
  const runs = new Runs(store, git);
  const token = randomBytes(32).toString("hex");
  const app = new Hono<Guarded>();
  app.use(guard({ token, refuse: (c, status, why) => c.json({ ok: false, message: why }, status) }));
  // A database that is away may be back for the next question.
  app.onError((error, c) => {
    if (isLineLost(error))
      return c.json({ ok: false, message: `The team's database cannot be reached: ${error.message}` }, 503);
    throw error;
  });
  mountPage(app, runs, undefined);
  const server = await listen(app.fetch, port);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    link: `${url}/?token=${token}`,
    close: async () => {
      await runs.close();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}
