/** Begins a run of the whole team: its code is on the remote before anybody is told of it. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Config } from "../config/schema.js";
import { bad, type Failure, good, type Result } from "../engine/failure.js";
import type { Equipment } from "../engine/held-run.js";
import { LiveRun } from "../engine/live-run.js";
import { stateOf } from "../engine/resume.js";
import { newRunId } from "../engine/runs.js";
import { dirtyTree, type Prepared, recordStart, type StartOptions, withFoundGates } from "../engine/start.js";
import type { Git } from "../git/git.js";
import { dropRefs } from "../git/refs.js";
import type { Redact } from "../secrets/redact.js";
import { isLineLost } from "../store/postgres/database.js";
import type { PgStore } from "../store/postgres/store.js";
import type { Queues } from "./queues.js";
import { gitsWords } from "./remote.js";

/** How many phases at once, on all machines together, where the user does not say. */
const MANY = 16;

export interface Team {
  url: string;
  store: PgStore;
  queues: Queues;
  redact: Redact;
}

const usage = (what: string, fix: string): Failure => ({ type: "usage", what, fix });
const refuse = (what: string, fix: string): Result<never> => bad(usage(what, fix));

/** What is begun or taken up: where it lands, and which plan it is of, unless that does not matter. */
interface Landing {
  branch: string;
  plan: string | undefined;
}

/** Two runs never land on one branch, and a plan is not done twice at once. */
export async function inTheWay(store: PgStore, { branch, plan }: Landing): Promise<Failure | undefined> {
  let same: Failure | undefined;
  for (const run of await store.openRuns()) {
    const state = stateOf((await store.read(run)).events);
    if (state?.status !== "running") continue;
    const look = `See how it stands: segno status ${run}; segno stop --run ${run} stops it.`;
    if (state.branch === branch)
      return usage(`Run ${run} of this team works on ${branch}: two cannot land on one branch.`, look);
    if (state.plan.file === plan)
      same = usage(
        `Run ${run} of ${plan} is in progress: everything in it would be done twice.`,
        `${look} A second one all the same: segno run ${plan} --team --fresh`,
      );
  }
  return same;
}

const TURN_MS = 300;
const MOST_TURNS = 400;

/** Who begins a run, or takes one up, sees what whoever was before began. */
export async function inTurn<T>(store: PgStore, use: () => Promise<Result<T>>): Promise<Result<T>> {
  for (let n = 0; n < MOST_TURNS; n++) {
    const locked = await store.beginning();
    if (!locked.ok) {
      await sleep(TURN_MS);
      continue;
    }
    try {
      return await use();
    } finally {
      locked.lock.release();
    }
  }
  return refuse("Somebody else is beginning a run of this repository, and does not come to an end.", "Try again.");
}

export async function startTeamRun(
  team: Team,
  prepared: Prepared,
  /** \`fresh\`: although one of the same plan is in progress. */
  given: StartOptions & { fresh?: boolean },
  equipment: Equipment,
): Promise<Result<string>> {
  const { store, queues, url, redact } = team;
  const { repository } = prepared;
  const { git, head } = repository;
  const dirty = await dirtyTree(prepared);
  if (dirty !== undefined && !given.allowDirty) return bad(dirty);
  const unknown = await notCommitted(git, prepared.parsed.plan.files);
  if (unknown.length > 0)
    return refuse(
      `Others cannot see ${unknown.join(", ")}: the plan is in no commit.`,
      `git add ${unknown.join(" ")} && git commit && git push`,
    );
  const remote = await isOnRemote(git, url, head);
  if (typeof remote === "string")
    return refuse(`The git remote cannot be reached: ${remote}`, `Try it by hand: git ls-remote ${url}`);
  if (!remote)
    return refuse(
      `HEAD (${head.slice(0, 9)}) is not on the git remote, so no other machine can begin from it.`,
      "git push",
    );
  const { options, parsed, tried } = await withFoundGates(prepared, given, equipment);
  if (!options.config.auto_commit)
    return refuse("Machines hand work over in commits.", "Switch auto_commit on, or leave out --team.");
  const { parallel } = options.config;
  // Parts of a phase would be merged on a machine that does not have the phase.
  const config = { ...options.config, parallel: parallel > 1 ? parallel : MANY, split: "off" as const };
  const id = newRunId(new Date());
  const branch = config.branch === "current" || config.branch === "auto" ? `segno/${id}` : config.branch;
  return inTurn(store, async () => {
    const other = await inTheWay(store, { branch, plan: given.fresh === true ? undefined : parsed.plan.file });
    if (other !== undefined) return bad(other);
    const pushed = await git.attempt(["push", "--quiet", "--no-verify", url, `${head}:refs/heads/${branch}`]);
    if (!pushed.ok) return bad({ type: "branch", branch, why: pushed.stderr.trim() });
    const journal = await store.create(id, { epoch: 1, redact }).catch(async (error: unknown) => {
      // Nothing was begun: nothing is left of it.
      if (branch.endsWith(id)) await git.attempt(["push", "--quiet", "--no-verify", url, `:refs/heads/${branch}`]);
      throw error;
    });
    const run = new LiveRun(journal, []);
    run.onEvent(equipment.onEvent);
    const started = { id, branch, head, parsed, repository, options: { ...options, config }, tried };
    await recordStart(run, store, started, equipment);
    await run.close();
    await offer(queues, id);
    return good(id);
  });
}

/** A line that is lost in this moment is no matter: runs that nobody was told of are looked for, too. */
export async function offer(queues: Queues, run: string): Promise<void> {
  await queues.ensureRun({ run }).catch((error: unknown) => {
    if (!isLineLost(error)) throw error;
  });
}

/** A person wants it to go on: what failed is tried again. */
export async function resumeTeamRun(
  run: LiveRun,
  config: Config,
  attended: boolean,
  agents: readonly string[] | undefined,
): Promise<void> {
  const nothing = { torn: 0, swept: 0, since: undefined, usersPaths: [], staged: [] };
  await run.record({
    type: "run-resumed",
    config,
    attended,
    agents: agents === undefined ? undefined : [...agents],
    ...nothing,
  });
}

async function notCommitted(git: Git, files: readonly string[]): Promise<string[]> {
  const listed = await git.nulSeparated(["ls-tree", "-r", "-z", "--name-only", "HEAD", "--", ...files]);
  return files.filter((file) => !listed.includes(file));
}

const CHECKED = "refs/segno-remote/check";

/** Or why that cannot be known. */
async function isOnRemote(git: Git, url: string, head: string): Promise<boolean | string> {
  const fetched = await git.attempt([
    "fetch",
    "--quiet",
    "--no-tags",
    "--no-write-fetch-head",
    "--prune",
    url,
    `+refs/heads/*:${CHECKED}/*`,
  ]);
  if (!fetched.ok) return gitsWords(fetched.stderr);
  const found = await git.attempt(["for-each-ref", "--count=1", `--contains=${head}`, CHECKED]);
  await dropRefs(git, CHECKED);
  return found.ok && found.stdout.trim() !== "";
}
