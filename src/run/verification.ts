/**
 * What a phase that its agent calls completed must pass before it counts.
 *
 *   gates ─ all pass ─▶ inspected ─▶ reviewed (where asked for) ─▶ a person's word (where asked for) ─▶ committing
 *     └─ one fails, a task is not reported, a criterion is refused ─▶ a repair ─▶ gates …
 */
import { wantsReview } from "../plan/review.js";
import { startSession } from "./after-session.js";
import { commandId } from "./command.js";
import { commit, passedKind } from "./committing.js";
import { conclude, type Decision, failPhase, perform, skipPhase } from "./decision.js";
import type { FactOf } from "./event.js";
import { failingIn, issuesOf } from "./failing.js";
import type { Folding } from "./folding.js";
import { gatesToPass, hasConflict, hasLanded, hasLost, repairMerge, type TrainsTaken, takeIn } from "./merging.js";
import type { PhaseFailure } from "./outcome.js";
import { type Attempt, changeAttempt, changePhase, type GateResult, HUMAN, type PhaseState, revise } from "./phase.js";
import { anew, ask } from "./questions.js";
import { decideSplit, wantsSplitForRepair } from "./splitting.js";
import { phaseOf, type RunState } from "./state.js";

type Verifying = Extract<PhaseState, { step: "verifying" }>;

export function decideVerification(
  state: RunState,
  id: string,
  phase: Verifying,
  taken: TrainsTaken,
): Decision | undefined {
  const { attempt, results } = phase;
  const { number, train, repairs, judged } = attempt;
  const { merge } = train;
  if (attempt.skipping) return skipPhase(id);
  if (merge !== undefined && hasLost(state, merge)) return takeIn(state, id, attempt, taken);
  const passed = () => commit(id, attempt, passedKind(attempt));
  const open = openGates(state, id, phase);
  const runnable = open.find((gate) => gate.check.type !== "manual");
  if (runnable !== undefined) {
    const merged = merge === undefined ? [] : [`m${train.merges}`];
    const command = commandId(id, number, "gate", ...merged, `r${repairs.count}`, runnable.id);
    const { id: gate } = runnable;
    return perform({ type: "run-gate", id: command, phase: id, attempt: number, gate, round: repairs.count });
  }
  const failing = results.filter((result) => !result.passed);
  const reports = state.gates === "report";
  if (failing.length > 0 && merge !== undefined && (!reports || hasConflict(failing))) {
    // It may be one of those before it that does not fit: that is known when they have landed.
    if (!hasLanded(state, merge)) return undefined;
    const repaired = repairMerge(state, id, phase, failing);
    return repaired === "repair" ? startSession(state, id, attempt, "merge") : repaired;
  }
  if (merge?.candidate !== undefined)
    return conclude({ type: "merge-tested", phase: id, attempt: number, candidate: merge.candidate });
  if (merge !== undefined) return passed();
  if (failing.length > 0 && !reports) return repair(state, id, attempt, failing);
  if (judged.inspected === undefined) {
    const command = commandId(id, number, "inspect", `r${repairs.count}`);
    return perform({ type: "inspect-phase", id: command, phase: id, attempt: number, round: repairs.count });
  }
  if (reports) return passed();
  const { unreported, suspicions } = judged.inspected;
  if (unreported.length > 0) return repair(state, id, attempt, failingIn(attempt, results));
  if (suspicions.length > 0 && state.config.suspicious === "fail") {
    const message = `Phase ${id} passed in a way that looks wrong (suspicious: fail): ${suspicions.map(({ text }) => text).join("; ")}.`;
    return failPhase(id, number, { category: "gate_failed", message, recommendation: "ask" });
  }
  const reviews = isReviewed(state, id, attempt);
  if (reviews && judged.reviewed === undefined) return startSession(state, id, attempt, "verify");
  const refused = (judged.reviewed ?? []).filter((verdict) => !verdict.passed);
  if (reviews && refused.length > 0) return repair(state, id, attempt, failingIn(attempt, results));
  const looked = judged.human === undefined || results.some(({ gate }) => gate === HUMAN);
  const toAsk = looked ? open[0] : { id: HUMAN, name: judged.human ?? "" };
  return toAsk === undefined ? passed() : askPerson(state, id, attempt, toAsk, looked ? "gate" : "verify");
}

/** Parts of a phase that was split are judged with the whole. */
function isReviewed(state: RunState, id: string, attempt: Attempt): boolean {
  const { verify } = state.config;
  if (wantsReview(phaseOf(state, id))) return true;
  if (verify === "off" || state.parents.has(id)) return false;
  // A note that it must write says nothing of its work.
  return verify === "agent" || gatesToPass(state, id, attempt).every(({ check }) => check.type === "file");
}

function openGates(state: RunState, id: string, { attempt, results }: Verifying) {
  const judged = new Set(results.map((result) => result.gate));
  // With a conflict in it the tree means nothing.
  const enough = hasConflict(results) || (state.config.gates_fail_fast && results.some((result) => !result.passed));
  return enough ? [] : gatesToPass(state, id, attempt).filter((gate) => !judged.has(gate.id));
}

/** A gate that a person must judge, or an agent that wants one to look: a question, with the work committed before. */
function askPerson(
  state: RunState,
  id: string,
  attempt: Attempt,
  { id: gate, name }: { id: string; name: string },
  kind: "gate" | "verify",
): Decision | undefined {
  const { number, repairs, commits } = attempt;
  const question = commandId(id, number, "ask", `r${repairs.count}`, gate, anew(state));
  const text =
    kind === "gate"
      ? `Everything that can be run has passed in phase ${id}. Please look at: ${name}`
      : `The agent of phase ${id} wants a person to verify its work: ${name}`;
  const asked = ask(state, { kind, id: question, phase: id, text });
  switch (asked.type) {
    case "asks":
      return commits.settled ? asked.decision : commit(id, attempt, "handover");
    case "waits":
      return undefined;
    case "answered":
      break;
    default:
      return asked satisfies never;
  }
  if (asked.choice === "later") {
    const message = `A person must look at phase ${id}: ${name}. Then: segno resume ${state.run}, and answer; or mark it as done in the plan; or segno skip ${id}`;
    return failPhase(id, number, { category: "human_needed", message, recommendation: "ask" });
  }
  const passed = asked.choice === "pass";
  return conclude({
    type: "gate-finished",
    command: question,
    phase: id,
    attempt: number,
    gate,
    name,
    round: repairs.count,
    passed,
    exit: null,
    ms: 0,
    why: `${passed ? "passed" : "refused"} by a person (${asked.by})`,
    output: "sha256:",
  });
}

const MOST_ISSUES = 3;
const MUCH_OF_A_WINDOW = 60;

/** One more repair, unless it is plain that repairing does not help. */
function repair(state: RunState, id: string, attempt: Attempt, failing: readonly GateResult[]): Decision | undefined {
  const names = failing.map((result) => `${result.name} (${result.why})`).join(", ");
  const fail = (why: string, recommendation: PhaseFailure["recommendation"] = "retry"): Decision => {
    const message = `Phase ${id} is not done: ${why}: ${names}.`;
    return failPhase(id, attempt.number, { category: "gate_failed", message, recommendation });
  };
  const { count, failures, lines } = attempt.repairs;
  const tries = count === 0 ? "" : ` after ${count} attempts to repair it`;
  if (count >= state.config.max_remediations) return fail(`its gates fail${tries}`);
  if (count >= 2 && alwaysOther([...failures, failing.map((result) => result.gate)]))
    return fail(`other gates fail after each of ${count} repairs`, "ask");
  if (growing(lines))
    return fail(`each repair changes more than the one before it, and its gates still fail${tries}`, "ask");
  const issues = issuesOf(failing);
  const expected = expectedRepair(state, id, issues);
  if (issues > MOST_ISSUES && expected > MUCH_OF_A_WINDOW) {
    const why = `${issues} things fail, and repairing them is expected to need ${expected} % of a session`;
    const wanted = wantsSplitForRepair(state, id, attempt, `${why} (${names})`);
    // Its parts begin from what is committed.
    if (wanted !== undefined && !attempt.commits.settled) return commit(id, attempt, "handover");
    if (wanted !== undefined) return decideSplit(state, id, attempt, wanted);
  }
  return startSession(state, id, attempt, "remediate");
}

/** How much of a session a repair is expected to fill, in percent: by what repairs needed here, and 0 before one was seen. */
function expectedRepair(state: RunState, id: string, issues: number): number {
  const forecast = state.forecast.get(id);
  if (forecast === undefined || forecast.percent === 0) return 0;
  const seen = [...state.sessions.values()]
    .filter(({ purpose, step, issues: of }) => purpose === "remediate" && step === "ended" && of > 0)
    .map(({ lastTokens, firstPrompt, issues: of }) => Math.max(0, lastTokens - (firstPrompt ?? lastTokens)) / of);
  const each = middle(seen) ?? state.tokensPerIssue;
  if (each === undefined) return 0;
  const budget = (forecast.context * 100) / forecast.percent;
  return Math.round(((forecast.context - forecast.work + issues * each) / budget) * 100);
}

const middle = (values: readonly number[]): number | undefined =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

/** Each round fails with gates of which none failed in the round before. */
const alwaysOther = (rounds: readonly (readonly string[])[]): boolean =>
  rounds.length > 2 &&
  rounds.slice(1).every((round, index) => round.every((gate) => !(rounds[index] ?? []).includes(gate)));

const GROWTH = 2;
const LEAST_LINES = 200;

const growing = (lines: readonly number[]): boolean => {
  const [a, b, c] = lines.slice(-3);
  return a !== undefined && b !== undefined && c !== undefined && c > LEAST_LINES && b >= a * GROWTH && c >= b * GROWTH;
};

export function gateFinished(state: Folding, event: FactOf<"gate-finished">): void {
  const { phase: id, gate, name, passed, why, output, ms, issues } = event;
  const check = state.readiness.planned.get(id)?.gates.find((known) => known.id === gate)?.check;
  if (passed && check?.type === "command") gateTimed(state, check.command, ms);
  changePhase(state, id, (phase) =>
    phase.step === "verifying"
      ? { ...phase, results: [...phase.results, { gate, name, passed, why, output, issues }] }
      : phase,
  );
}

const MOST_TIMES = 20;

function gateTimed({ gateTimes }: Folding, command: string, ms: number): void {
  gateTimes.set(command, [...(gateTimes.get(command) ?? []), ms].slice(-MOST_TIMES));
}

export function gatesBaselined(state: Folding, { results }: FactOf<"gates-baselined">): void {
  state.gatesBefore = new Map(results.map(({ command, passed, number }) => [command, { passed, number }]));
  for (const { command, passed, ms } of results) if (passed) gateTimed(state, command, ms);
}

export function phaseInspected(state: Folding, { phase, suspicions, unreported }: FactOf<"phase-inspected">): void {
  changeAttempt(state, phase, (attempt) => revise(attempt, "judged", { inspected: { suspicions, unreported } }));
}

export function suspicionRaised(state: Folding, { phase, suspicions }: FactOf<"suspicion-raised">): void {
  changeAttempt(state, phase, (attempt) =>
    revise(attempt, "judged", { asked: [...attempt.judged.asked, ...suspicions.map(({ text }) => text)] }),
  );
}
