/** `diff`, `undo`, `snapshots`: what a run did to the repository, and how to take it back. */
import { rootOf } from "../../engine/marks.js";
import { planFiles } from "../../engine/plan-files.js";
import { planOptions } from "../../engine/plan-options.js";
import { appendToRun, readRun } from "../../engine/resume.js";
import { onlyMarksDiffer } from "../../engine/start.js";
import { plansWithout } from "../../engine/unmark.js";
import { Git } from "../../git/git.js";
import { contains } from "../../git/merge.js";
import { foreignCommits, type UndoProblem, undoCommits } from "../../git/undo.js";
import { parsePlan } from "../../plan/parse.js";
import type { RunEvent } from "../../run/event.js";
import type { RunState } from "../../run/state.js";
import type { Store } from "../../store/store.js";
import { askChoice, isTerminal } from "../ask.js";
import { EXIT } from "../exit.js";
import { findRun } from "../found-run.js";
import { printFailure } from "../print-failure.js";

interface Made {
  phase: string;
  sha: string;
  ref: string | undefined;
  /** The commit that brought a phase in from its worktree. */
  merge: boolean;
}

interface Found {
  store: Store;
  git: Git;
  run: string;
  events: RunEvent[];
  state: RunState;
  base: string;
  made: Made[];
}

async function find(run: string | undefined, phase: string | undefined, json: boolean): Promise<Found | number> {
  const named = await findRun(run, { json });
  if (!named.ok) return printFailure(named.failure, json);
  const { top, store, run: id } = named.value;
  const read = await readRun(store, id);
  if (!read.ok) return printFailure(read.failure, json);
  const { events, state } = read.value;
  if (phase !== undefined && !state.phases.has(phase)) {
    const fix = `Its phases: ${[...state.phases.keys()].join(", ")}.`;
    return printFailure({ type: "usage", what: `There is no phase ${phase} in run ${id}.`, fix }, json);
  }
  const [first] = events;
  // What its sub-phases did is the phase's, too.
  const isOf = (id: string): boolean => {
    if (phase === undefined || id === phase) return true;
    const parent = state.parents.get(id);
    return parent !== undefined && isOf(parent);
  };
  const made = events.flatMap((event): Made[] => {
    if (event.type === "commit-made" && isOf(event.phase))
      return [{ phase: event.phase, sha: event.sha, ref: event.ref, merge: false }];
    if (event.type === "phase-merged" && isOf(event.phase))
      return [{ phase: event.phase, sha: event.sha, ref: undefined, merge: true }];
    return [];
  });
  const base = first?.type === "run-started" ? first.head : "";
  return { store, git: new Git(top), run: id, events, state, base, made };
}

export async function diffCommand(run: string | undefined, flags: { phase?: string; json?: boolean }): Promise<number> {
  const found = await find(run, flags.phase, flags.json === true);
  if (typeof found === "number") return found;
  const { git, made } = found;
  if (flags.json === true) {
    console.log(JSON.stringify({ run: found.run, base: found.base, commits: made }));
    return EXIT.done;
  }
  const shown = made.filter(({ merge }) => !merge);
  const away = await notHere(git, shown);
  if (away > 0) return printFailure({ type: "usage", ...(await awayWords(found, away, shown.length)) }, false);
  for (const { sha, phase } of shown)
    process.stdout.write(
      await git.raw(["show", "--format=commit %h  phase ".concat(phase, "%n%n    %s%n"), "--stat", "--patch", sha]),
    );
  if (made.length === 0) console.log("Nothing was committed.");
  return EXIT.done;
}

/** How many of them this clone does not have. */
async function notHere(git: Git, made: readonly Made[]): Promise<number> {
  const input = made.map(({ sha }) => `${sha}\n`).join("");
  const said = await git.raw(["cat-file", "--batch-check"], { input });
  return said.split("\n").filter((line) => line.endsWith(" missing")).length;
}

async function awayWords(
  { git, run, state }: Found,
  away: number,
  all: number,
): Promise<{ what: string; fix: string }> {
  return {
    what: `${away} of the ${all} commits of run ${run} are not in this clone.`,
    fix:
      state.team === undefined
        ? `They were on ${state.branch}; git may have removed them since. segno report tells what was done.`
        : `It is the team's, and they are on the git remote: git fetch ${await remoteHere(git.top)} ${state.branch}`,
  };
}

/** By which a team's code travels. */
async function remoteHere(top: string): Promise<string> {
  const { settingsHere } = await import("../team.js");
  const settings = settingsHere(top);
  return (settings.ok ? settings.value?.remote : undefined) ?? "origin";
}

export interface UndoFlags {
  phase?: string;
  move?: boolean;
  json?: boolean;
}

export async function undoCommand(run: string | undefined, flags: UndoFlags): Promise<number> {
  const json = flags.json === true;
  const found = await find(run, flags.phase, json);
  if (typeof found === "number") return found;
  const { git, base, state, store } = found;
  const holder = await store.checkoutHolder();
  if (holder !== undefined) {
    const what = `Run ${holder.run} is in progress in this checkout (process ${holder.pid}): what is undone now it would build on, or do again.`;
    return printFailure({ type: "usage", what, fix: "Stop it first: segno stop. Then undo." }, json);
  }
  const shas = await onTheBranch(found);
  // Whoever would take it up again by itself leaves it now.
  if (shas.length > 0 && state.status === "running" && state.team === undefined) {
    const stopped = await appendToRun(store, found.run, (run) =>
      run.record({ type: "stop-requested", by: "segno undo", cause: "asked" }),
    );
    if (!stopped.ok) return printFailure(stopped.failure, json);
  }
  const phases = [
    ...new Set(found.made.filter(({ sha }) => shas.includes(sha)).map(({ phase }) => rootOf(state, phase))),
  ];
  const movable = shas.length > 0 && (await foreignCommits(git, base, shas)).length === 0;
  const others = shas.length === 0 ? [] : await foreignCommits(git, base, shas, true);
  const move = flags.move === true || (movable && (await agrees(shas.length, json)));
  const undone = await undoCommits(git, {
    base,
    shas,
    move,
    plan: state.plan.file,
    phases,
    plans: await plansWithout(git, state, base, phases),
    marked: await onlyMarked(git, state),
  });
  if (!undone.ok) {
    const words =
      undone.problem.type === "nothing" && state.team !== undefined
        ? teamWords(state, await remoteHere(git.top))
        : undefined;
    return printFailure({ type: "usage", ...(words ?? undoWords(undone.problem, found.run)) }, json);
  }
  const { how, commits, head } = undone.undone;
  if (json) console.log(JSON.stringify({ run: found.run, ...undone.undone, left: others }));
  else {
    console.log(
      how === "moved"
        ? `The branch was moved back over ${commits} commits, to ${head.slice(0, 9)}. They are still there: git reflog shows them.`
        : `${commits === 1 ? "1 commit was" : `${commits} commits were`} taken back by a new one; HEAD is ${head.slice(0, 9)}. The plan says that phase ${phases.join(", ")} is open again: segno run ${state.plan.file} --fresh does it anew.`,
    );
    for (const sha of how === "moved" ? [] : others)
      console.log(
        `${sha.slice(0, 9)} stays, which Segno did not make (${await git.line(["log", "-1", "--format=%s", sha])}): git revert ${sha.slice(0, 9)}`,
      );
  }
  return EXIT.done;
}

/** The run's commits, less those in worktrees of phases that were never merged. */
async function onTheBranch({ git, made, events }: Found): Promise<string[]> {
  const inWorktrees = new Set(
    events.flatMap((event) => (event.type === "phase-started" && event.worktree !== undefined ? [event.phase] : [])),
  );
  const shas: string[] = [];
  for (const { sha, phase, ref } of made) {
    if (ref !== undefined) continue;
    if (inWorktrees.has(phase) && !(await contains(git, "HEAD", sha))) continue;
    shas.push(sha);
  }
  return shas;
}

/** Plan files in which nothing is changed but marks: those of a phase that failed are in no commit. */
async function onlyMarked(git: Git, { plan, config, format }: RunState): Promise<string[]> {
  const files = planFiles(git.top);
  const parsed = parsePlan(plan.file, files.read, planOptions(config, format));
  if (!parsed.ok) return [];
  const marked: string[] = [];
  for (const file of plan.files) if (await onlyMarksDiffer(git, files, parsed.plan, file)) marked.push(file);
  return marked;
}

async function agrees(commits: number, json: boolean): Promise<boolean> {
  if (!isTerminal(json)) return false;
  const choice = await askChoice(`Nothing came after the ${commits} commits of this run.`, [
    { name: "move", meaning: "move the branch back to before them" },
    { name: "revert", meaning: "add commits that undo them" },
  ]);
  return choice === "move";
}

/** What the whole team did is on a branch of the remote, and in this clone only if somebody brought it in. */
const teamWords = ({ run, branch, status }: RunState, remote: string): { what: string; fix: string } => ({
  what: `Run ${run} is the team's: what it did is on ${branch} of the git remote, and not in what is checked out here.`,
  fix: `${status === "running" ? "Stop it first: segno stop. " : ""}Do not merge that branch, or delete it: git push ${remote} --delete ${branch}`,
});

function undoWords(problem: UndoProblem, run: string): { what: string; fix: string } {
  switch (problem.type) {
    case "nothing":
      return {
        what: `Run ${run} committed nothing that could be undone.`,
        fix: "segno snapshots lists what was kept beside the branch.",
      };
    case "dirty":
      return {
        what: `The working tree has changes: ${problem.files.slice(0, 5).join(", ")}`,
        fix: "Commit them first, so that nothing of yours can get lost.",
      };
    case "foreign":
      return {
        what: `The branch cannot be moved back: ${problem.shas.length} commits that are not the run's are among its own (${problem.shas
          .slice(0, 3)
          .map((sha) => sha.slice(0, 9))
          .join(", ")}), and would be lost with them.`,
        fix: "Leave --move out: then a new commit takes back the run's alone.",
      };
    case "missing":
      return {
        what: `Commit ${problem.sha.slice(0, 9)} is not on this branch.`,
        fix: "Switch to the branch of the run.",
      };
    case "undone":
      return {
        what: `What run ${run} committed was taken back already.`,
        fix: "git log shows the commit that did it; git revert of that brings it back.",
      };
    case "conflict":
      return {
        what: `Commit ${problem.sha.slice(0, 9)} cannot be taken back by itself: later changes touch the same lines (${problem.files.slice(0, 5).join(", ") || "git does not say where"}). Nothing was changed.`,
        fix: "Undo the later phases first, or revert it by hand.",
      };
    default:
      return problem satisfies never;
  }
}

export async function snapshotsCommand(run: string | undefined, flags: { json?: boolean }): Promise<number> {
  const found = await find(run, undefined, flags.json === true);
  if (typeof found === "number") return found;
  const kept = found.made.filter(({ ref }) => ref !== undefined);
  if (flags.json === true) console.log(JSON.stringify({ run: found.run, snapshots: kept }));
  else if (kept.length === 0) console.log(`Run ${found.run} kept no snapshots.`);
  else
    for (const { phase, sha, ref } of kept)
      console.log(
        `phase ${phase}  ${sha.slice(0, 9)}  look: git diff HEAD ${ref}   restore: git restore --source=${ref} -- .`,
      );
  return EXIT.done;
}
