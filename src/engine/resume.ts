/**
 * Takes a run up again: replay, sweep what the dead process left, reconcile what was in flight with the world. After
 * that it is an ordinary run, and `decide` goes on.
 */
import { sweep } from "../agents/processes.js";
import type { Config } from "../config/schema.js";
import type { Git } from "../git/git.js";
import { changedSince, openRepository, stagedPaths } from "../git/start.js";
import { parsePlan } from "../plan/parse.js";
import type { Command } from "../run/command.js";
import type { Fact, RunEvent } from "../run/event.js";
import { evolve } from "../run/evolve.js";
import type { RunState, SessionState } from "../run/state.js";
import { type JournalRead, journalPath, openJournal, readJournal } from "../store/file.js";
import { redactor } from "../store/redact.js";
import { claimRun } from "./claim.js";
import { bad, good, type Result } from "./failure.js";
import { LiveRun } from "./live-run.js";
import { type PlanFiles, planFiles } from "./plan-files.js";
import { readPromptTexts } from "./prompt-texts.js";
import { runFolder } from "./runs.js";
import { planOptions } from "./start.js";
import { type Hands, isOfRun, type World, worldOf } from "./world.js";

/** The state a journal leads to; its first event is always there. */
export function stateOf(events: readonly RunEvent[]): RunState | undefined {
  let state: RunState | undefined;
  for (const event of events) state = evolve(state, event);
  return state;
}

export function readRun(top: string, id: string): Result<Extract<JournalRead, { ok: true }> & { state: RunState }> {
  const folder = runFolder(top, id);
  const read = readJournal(folder);
  if (!read.ok) {
    return bad({
      type: "journal",
      file: journalPath(folder),
      line: read.line,
      why: read.why,
      readable: read.events.length,
    });
  }
  const state = stateOf(read.events);
  if (state === undefined) {
    return bad({ type: "nothing-to-resume", run: id, why: "it ended before it began: its journal is empty" });
  }
  return good({ ...read, state });
}

export async function resumeRun(top: string, id: string, config: Config, hands: Hands): Promise<Result<World>> {
  const first = readRun(top, id);
  if (!first.ok) return first;
  if (first.value.state.status === "completed") {
    return bad({ type: "nothing-to-resume", run: id, why: "all its phases are done" });
  }
  const repository = await openRepository(top);
  if (!repository.ok) return bad({ type: "repository", problem: repository.problem, detail: repository.detail });
  const { git, branch } = repository;
  if (branch !== first.value.state.branch) {
    return bad({ type: "other-branch", expected: first.value.state.branch, actual: branch });
  }
  const texts = readPromptTexts(top);
  if (!texts.ok) return texts;
  const claimed = claimRun(top, id);
  if (!claimed.ok) return claimed;
  // Read again under the lock: its last holder may have written until it died.
  const read = readRun(top, id);
  if (!read.ok) {
    claimed.value.release();
    return read;
  }
  const swept = await sweep(isOfRun(id));
  const folder = runFolder(top, id);
  const redact = redactor({ ...process.env, ...hands.agentEnv });
  const epoch = read.value.state.epoch + 1;
  const journal = openJournal(folder, { epoch, redact, now: () => new Date() }, read.value);
  const run = new LiveRun(journal, folder, read.value.events);
  run.onEvent(hands.onEvent);
  const since = run.state.noted;
  const theirs = await changedSinceRest(git, since);
  run.append({ type: "run-resumed", config, torn: read.value.torn, swept, since, ...theirs });
  if (since === undefined && read.value.state.status === "running" && !read.value.state.apart) {
    run.append({
      type: "warned",
      message: "Segno was ended without a stop: what was edited since then cannot be told from the phase's own work.",
    });
  }
  if (theirs.usersPaths.length > 0) {
    run.append({
      type: "warned",
      message: `Edited since the run came to rest, and left out of its commits: ${theirs.usersPaths.slice(0, 10).join(", ")}`,
    });
  }
  for (const fact of honourMarks(run.state, planFiles(top))) run.append(fact);
  for (const fact of reconcile(run.state)) run.append(fact);
  return good(worldOf(run, git, hands, planFiles(top), texts.value, claimed.value));
}

/** What the user changed and staged while nobody held the run. Plan files are read on their own. */
async function changedSinceRest(
  git: Git,
  noted: string | undefined,
): Promise<{ usersPaths: string[]; staged: string[] }> {
  if (noted === undefined) return { usersPaths: [], staged: [] };
  const changes = await changedSince(git, noted);
  return { usersPaths: changes.map((change) => change.path), staged: await stagedPaths(git) };
}

/** A phase that failed and that the user now marks as done counts as done: their word. */
function honourMarks({ plan, config, format, phases }: RunState, files: PlanFiles): Fact[] {
  const parsed = parsePlan(plan.file, files.read, planOptions(config, format));
  if (!parsed.ok) return [];
  return parsed.plan.phases.flatMap(({ id, mark }): Fact[] => {
    const step = phases.get(id)?.step;
    if (mark !== "done" || (step !== "waiting" && step !== "failed")) return [];
    return [{ type: "skip-requested", phase: id, by: "marked as done in the plan" }];
  });
}

/** Writes into the journal of a run that nobody holds: takes its locks, appends, releases them. */
export async function appendToRun<T>(top: string, id: string, act: (run: LiveRun) => T): Promise<Result<T>> {
  const claimed = claimRun(top, id);
  if (!claimed.ok) return claimed;
  try {
    const read = readRun(top, id);
    if (!read.ok) return read;
    const { epoch } = read.value.state;
    const folder = runFolder(top, id);
    const journal = openJournal(folder, { epoch, redact: redactor(process.env), now: () => new Date() }, read.value);
    const run = new LiveRun(journal, folder, read.value.events);
    const value = act(run);
    run.close();
    return good(value);
  } finally {
    claimed.value.release();
  }
}

/**
 * What was in flight when the last process ended. Its sessions are gone, whatever they were doing. A gate runs again; a
 * commit is performed again and recognises itself by its trailer; the start of a phase left nothing behind.
 */
export function reconcile(state: RunState): Fact[] {
  const facts: Fact[] = [];
  const open = [...state.inFlight.values()];
  for (const session of state.sessions.values()) {
    if (session.step === "ended") continue;
    const command = open.find((candidate) => isOfSession(candidate, session));
    const { id, phase, attempt } = session;
    facts.push({
      type: "session-ended",
      command: command?.id ?? id,
      session: id,
      phase,
      attempt,
      reason: "killed",
      swept: 0,
    });
  }
  for (const command of open) {
    if ("session" in command) continue;
    facts.push({ type: "command-abandoned", command: command.id, why: "Segno ended while it was performed" });
  }
  return facts;
}

const isOfSession = (command: Command, session: SessionState): boolean =>
  "session" in command && command.session === session.id;
