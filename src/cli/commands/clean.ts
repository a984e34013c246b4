/** `clean`: removes what finished runs left, here or with `--team` where the team keeps it; never work that is on no branch. */
import { readRun } from "../../engine/resume.js";
import { Git } from "../../git/git.js";
import { dropRefs } from "../../git/refs.js";
import type { RunEvent } from "../../run/event.js";
import type { RunState } from "../../run/state.js";
import { FileStore } from "../../store/file.js";
import type { Store } from "../../store/store.js";
import { EXIT } from "../exit.js";
import { printFailure } from "../print-failure.js";
import { repositoryTop } from "../top.js";

export interface CleanFlags {
  json?: boolean;
  dryRun?: boolean;
  snapshots?: boolean;
  olderThan?: string;
  keep?: string;
  team?: boolean;
}

const UNITS = { h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

/** `14d`, `12h`, `2w`, in milliseconds. */
function readAge(text: string): number | undefined {
  const [, count = "", unit = ""] = /^(\d+)([hdw])$/.exec(text) ?? [];
  return unit === "" ? undefined : Number(count) * UNITS[unit as keyof typeof UNITS];
}

/** A team's phases are committed on branches of their own; one that was skipped is in no other. */
const hasSkippedCommits = (events: readonly RunEvent[], { phases }: RunState): boolean =>
  events.some((event) => event.type === "commit-made" && phases.get(event.phase)?.step === "skipped");

interface Limits {
  /** In milliseconds. */
  age: number;
  newest: number;
}

export async function cleanCommand(flags: CleanFlags): Promise<number> {
  const json = flags.json === true;
  const age = flags.olderThan === undefined ? 0 : readAge(flags.olderThan);
  if (age === undefined) {
    const fix = "Give hours, days or weeks: --older-than 12h, 14d, 2w.";
    return printFailure({ type: "usage", what: `"${flags.olderThan}" is no age.`, fix }, json);
  }
  const newest = Number(flags.keep ?? 0);
  if (!Number.isInteger(newest) || newest < 0)
    return printFailure({ type: "usage", what: `--keep is ${flags.keep}.`, fix: "Give a whole number." }, json);
  const top = await repositoryTop();
  if (!top.ok) return printFailure(top.failure, json);
  const git = new Git(top.value);
  const limits = { age, newest };
  if (flags.team === true) return cleanTeam(git, flags, limits);
  return cleanStore(new FileStore(top.value), flags, limits, (run) => dropRefs(git, `refs/segno/${run}/`));
}

async function cleanTeam(git: Git, flags: CleanFlags, limits: Limits): Promise<number> {
  const json = flags.json === true;
  const { mayNot, reachTeam, remoteUrl, storeOf } = await import("../team.js");
  const { forgetRun } = await import("../../team/remote.js");
  const reached = await reachTeam(git.top, flags);
  if (!reached.ok) return printFailure(reached.failure, json);
  const { settings, database } = reached.value;
  try {
    const url = await remoteUrl(git, settings.remote);
    if (!url.ok) return printFailure(url.failure, json);
    return await cleanStore(storeOf(reached.value, "a person"), flags, limits, async (run) => {
      await dropRefs(git, `refs/segno/${run}/`);
      await forgetRun(git, url.value, run);
    });
  } catch (error) {
    if (!mayNot(error)) throw error;
    const what = `${settings.url.user} may not remove what the team's journal says: only the database's owner may.`;
    return printFailure({ type: "usage", what, fix: "SEGNO_TEAM_USER=OWNER segno clean --team" }, json);
  } finally {
    await database.close();
  }
}

async function cleanStore(
  store: Store,
  flags: CleanFlags,
  limits: Limits,
  dropItsRefs: (run: string) => Promise<void>,
): Promise<number> {
  const removed: string[] = [];
  const kept: { run: string; why: string }[] = [];
  for (const [index, run] of (await store.list()).entries()) {
    const why = await whyKept(store, run, index, flags, limits);
    if (why !== undefined) {
      kept.push({ run, why });
      continue;
    }
    if (flags.dryRun !== true) {
      // Who may not remove it drops nothing.
      await store.remove(run);
      await dropItsRefs(run);
    }
    removed.push(run);
  }
  if (flags.json === true) console.log(JSON.stringify({ removed, kept }));
  else {
    console.log(`${flags.dryRun === true ? "Would remove" : "Removed"} ${removed.length} finished runs.`);
    for (const { run, why } of kept) console.log(`Kept ${run}: ${why}.`);
  }
  return EXIT.done;
}

async function whyKept(
  store: Store,
  run: string,
  index: number,
  flags: CleanFlags,
  { age, newest }: Limits,
): Promise<string | undefined> {
  const read = await readRun(store, run);
  if (!read.ok) return "its journal cannot be read";
  const { events, state } = read.value;
  if (state.status !== "completed") return `it is ${state.status}`;
  if (flags.snapshots !== true && events.some((event) => event.type === "commit-made" && event.ref !== undefined))
    return "it has snapshots that are on no branch (--snapshots removes them)";
  if (flags.snapshots !== true && state.team !== undefined && hasSkippedCommits(events, state))
    return "commits of phases that were skipped are on no branch (--snapshots removes them)";
  if (index < newest) return `it is among the newest ${newest} (--keep)`;
  return Date.now() - Date.parse(events.at(-1)?.at ?? "") < age ? `it is younger than ${flags.olderThan}` : undefined;
}
