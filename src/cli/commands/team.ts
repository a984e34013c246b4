/** `team init`, `team status`: a database that many machines work with, and who does what there. */
import { hostname } from "node:os";
import type { Failure } from "../../engine/failure.js";
import { stateOf } from "../../engine/resume.js";
import { Git } from "../../git/git.js";
import type { RunState } from "../../run/state.js";
import { clientConfig } from "../../store/postgres/connect.js";
import type { SeenWorker } from "../../store/postgres/store.js";
import type { TeamUrl } from "../../store/postgres/team-url.js";
import { initTeam, VIEWER_ROLE, WORKER_ROLE } from "../../team/init.js";
import { isName, urlOf, writeTeamSettings } from "../../team/settings.js";
import { table } from "../../view/table.js";
import { EXIT } from "../exit.js";
import { printFailure } from "../print-failure.js";
import {
  connectFailure,
  mayNot,
  openTeamOf,
  otherProtocol,
  reachDatabase,
  reachTeam,
  remoteUrl,
  settingsHere,
  type TeamFlags,
  urlFailure,
  withoutSecret,
} from "../team.js";
import { repositoryTop } from "../top.js";

export interface InitFlags extends TeamFlags {
  remote?: string;
  name?: string;
}

export async function teamInitCommand(url: string, flags: InitFlags): Promise<number> {
  const json = flags.json === true;
  const top = await repositoryTop();
  if (!top.ok) return printFailure(top.failure, json);
  const read = urlOf(top.value, url);
  if (!read.ok) return printFailure(urlFailure(read.problem), json);
  // Made once more, it keeps what it was called: runs and workers are under that name.
  const before = settingsHere(top.value);
  const known = before.ok ? before.value : undefined;
  if (flags.name !== undefined && !isName(flags.name))
    return printFailure(
      {
        type: "usage",
        what: `"${flags.name}" is no name for a repository.`,
        fix: "Use letters, digits, - and _ only: --name my-app",
      },
      json,
    );
  const git = new Git(top.value);
  const remote = flags.remote ?? known?.remote ?? "origin";
  const named = await git.attempt(["remote", "get-url", remote]);
  if (!named.ok && !/[:/]/.test(remote))
    return printFailure(
      {
        type: "usage",
        what: `There is no git remote ${remote}: machines hand code over through one.`,
        fix: `git remote add ${remote} URL, or name another: segno team init ${url} --remote NAME`,
      },
      json,
    );
  const code = named.ok ? await remoteUrl(git, remote) : await withoutSecret(remote);
  if (!code.ok) return printFailure(code.failure, json);
  const reached = await reachDatabase(read.url, flags);
  if (!reached.ok) return printFailure(reached.failure, json);
  const { database, password, redact } = reached.value;
  try {
    const made = await initTeam(
      database,
      clientConfig(read.url, () => password),
    );
    if (made.type === "other-protocol") return printFailure(otherProtocol(made.protocol), json);
    const repo = flags.name ?? known?.repo ?? (await nameOf(git));
    const file = writeTeamSettings(top.value, { database: url, repo, remote });
    if (json) console.log(JSON.stringify({ ok: true, made: made.type === "made", repo, remote, file }));
    else
      console.log(`${made.type === "made" ? "Made" : "Found"} Segno's tables and queues in ${database.where}, for the repository "${repo}".
Written: ${file}. Commit it, so that every clone knows; it holds no password.

Let others in, as whoever owns the database:
  CREATE ROLE alice LOGIN PASSWORD '…' IN ROLE ${WORKER_ROLE};    -- works and starts runs
  CREATE ROLE bob LOGIN PASSWORD '…' IN ROLE ${VIEWER_ROLE};      -- only looks
  SEGNO_TEAM_USER=alice says who a machine is there; its password is in ~/.pgpass (chmod 600), or asked for.
Whoever has the role ${WORKER_ROLE} runs commands on every worker, as the user that started it: give it to people you trust that far.
Roles are the whole server's: another team's database on it has the same people in them.

Next:
  segno worker              on each machine that is to work
  segno run PLAN.md --team  from anywhere`);
    return EXIT.done;
  } catch (error) {
    return printFailure(noRoles(read.url, error) ?? connectFailure(read.url, error, redact), json);
  } finally {
    await database.close();
  }
}

/** Whoever owns a database may not always make roles: where it is hosted, say. */
function noRoles({ user }: TeamUrl, error: unknown): Failure | undefined {
  if (!mayNot(error) || !/\brole/i.test((error as Error).message)) return undefined;
  return {
    type: "usage",
    what: `${user} may not create roles, and the team needs two. The tables are made.`,
    fix: `Let whoever administers the server say: CREATE ROLE ${WORKER_ROLE} NOLOGIN; CREATE ROLE ${VIEWER_ROLE} NOLOGIN;  Then once more: segno team init`,
  };
}

/** The same in every clone: the folder's name, and the first commit. */
async function nameOf(git: Git): Promise<string> {
  const roots = await git.attempt(["rev-list", "--max-parents=0", "HEAD"]);
  const root = roots.ok ? (roots.stdout.trim().split("\n").at(-1) ?? "") : "";
  const folder = git.top.split("/").at(-1) ?? "repository";
  return `${folder.replaceAll(/[^\w-]+/g, "-")}-${root.slice(0, 6) || "new"}`;
}

export async function teamStatusCommand(flags: TeamFlags): Promise<number> {
  const json = flags.json === true;
  const top = await repositoryTop();
  if (!top.ok) return printFailure(top.failure, json);
  const reached = await reachTeam(top.value, flags);
  if (!reached.ok) return printFailure(reached.failure, json);
  const { settings, redact } = reached.value;
  const opened = await openTeamOf(reached.value, { worker: hostname(), supervises: false });
  if (!opened.ok) return printFailure(opened.failure, json);
  const { store, queues, database } = opened.value;
  try {
    const workers = await store.workers();
    const open = new Map<string, RunState>();
    for (const run of (await store.openRuns()).toReversed()) {
      const state = stateOf((await store.read(run)).events);
      if (state?.status === "running") open.set(run, state);
    }
    const leases = (await store.leases()).filter(({ run, scope, worker }) => holds(open.get(run), scope, worker));
    const queue = (await queues.waiting()).filter(({ jobs, held }) => jobs + held > 0);
    const limited = await store.limitedAccounts();
    const [{ used = 0, most = 0 } = {}] = await database.query<{ used: number; most: number }>(
      "SELECT (SELECT count(datid)::int FROM pg_stat_activity) AS used, current_setting('max_connections')::int AS most",
    );
    if (json) {
      console.log(
        JSON.stringify({
          repo: settings.repo,
          workers,
          runs: [...open.keys()],
          leases,
          queue,
          limited,
          connections: { used, most },
        }),
      );
      return EXIT.done;
    }
    console.log(`${database.where}, repository "${settings.repo}": ${used} of ${most} connections used\n`);
    if (workers.length === 0) console.log("No worker is there. Start one: segno worker");
    else
      console.log(
        table(
          ["worker", "version", "agents (account)", "labels", "slots", "does", "last seen"],
          workers.map((worker) => workerRow(worker, leases)),
        ),
      );
    console.log(open.size === 0 ? "\nNo run is open." : `\nOpen runs: ${[...open.keys()].join(", ")}`);
    for (const { queue: name, jobs, held } of queue) console.log(`  ${name}: ${jobs} waiting, ${held} held`);
    for (const { agent, account, until } of limited)
      console.log(`  ${agent} (${account}) is at its limit until ${until}`);
    return EXIT.done;
  } catch (error) {
    return printFailure(connectFailure(settings.url, error, redact), json);
  } finally {
    await opened.value.close();
  }
}

/** A lease is remembered after it was given back; the journal says who has what now. */
function holds(state: RunState | undefined, scope: string, worker: string): boolean {
  const { conductor, holdings } = state?.team ?? {};
  return (scope === "" ? conductor : holdings?.get(scope)?.worker) === worker;
}

function workerRow(
  { worker, version, agents, labels, slots, seen, lost }: SeenWorker,
  leases: readonly { run: string; scope: string; worker: string }[],
): string[] {
  const own = leases.filter((lease) => lease.worker === worker);
  const conducts = own.filter(({ scope }) => scope === "").map(({ run }) => `conducts ${run.split("-").at(-1)}`);
  const phases = own.filter(({ scope }) => scope !== "").map(({ run, scope }) => `${run.split("-").at(-1)}/${scope}`);
  return [
    worker,
    version,
    Object.entries(agents)
      .map(([agent, account]) => `${agent} (${account})`)
      .join(", "),
    labels.join(", "),
    String(slots),
    [...conducts, ...(phases.length > 0 ? [`works on ${phases.join(", ")}`] : [])].join("; "),
    `${seen.slice(0, 19).replace("T", " ")}${lost ? ", LOST" : ""}`,
  ];
}
