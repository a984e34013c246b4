/** What a phase that its agent calls completed must pass before it counts: gates, a look at the change, a review. */
import { wantsReview } from "../plan/review.js";
import { type Command, commandId } from "./command.js";
import type { Fact } from "./event.js";
import { failingIn } from "./failing.js";
import { gatesToPass, hasConflict, repairMerge } from "./merging.js";
import type { PhaseFailure } from "./outcome.js";
import { VERDICT_CHOICES } from "./question.js";
import { type WantedSplit, wantsSplitForRepair } from "./splitting.js";
import { type GateResult, type PhaseState, phaseOf, type RunState } from "./state.js";

type Verifying = Extract<PhaseState, { step: "verifying" }>;

/** What follows for a phase that is being verified. */
export type Verified =
  | { type: "perform"; command: Command }
  | { type: "conclude"; fact: Fact }
  | { type: "wait" }
  /** Passed: commit it. */
  | { type: "passed" }
  | { type: "settle" }
  | { type: "review" }
  | { type: "repair" }
  | { type: "split"; wanted: WantedSplit }
  | { type: "fail"; failure: PhaseFailure };

export function verify(state: RunState, id: string, phase: Verifying): Verified {
  const gates = gatesToPass(state, id, phase);
  const { attempt, results, merge } = phase;
  const judged = new Set(results.map((result) => result.gate));
  const round = phase.remediations;
  // With a conflict in it the tree means nothing.
  const enough = hasConflict(results) || (state.config.gates_fail_fast && results.some((result) => !result.passed));
  const open = enough ? [] : gates.filter((gate) => !judged.has(gate.id));
  const runnable = open.find((gate) => gate.check.type !== "manual");
  if (runnable !== undefined) {
    const merged = merge === undefined ? [] : [`m${phase.merges}`];
    const command = commandId(id, attempt, "gate", ...merged, `r${round}`, runnable.id);
    return {
      type: "perform",
      command: { type: "run-gate", id: command, phase: id, attempt, gate: runnable.id, round },
    };
  }
  const failing = results.filter((result) => !result.passed);
  const reports = state.gates === "report";
  if (failing.length > 0 && merge !== undefined && (!reports || hasConflict(failing))) {
    const repaired = repairMerge(state, id, phase, failing);
    return repaired.type === "decided" ? repaired.decision : repaired;
  }
  if (merge !== undefined) return { type: "passed" };
  if (failing.length > 0 && !reports) return repair(state, id, phase, failing);
  if (phase.inspected === undefined) {
    const command = commandId(id, attempt, "inspect", `r${round}`);
    return { type: "perform", command: { type: "inspect-phase", id: command, phase: id, attempt, round } };
  }
  if (reports) return { type: "passed" };
  const { unreported, suspicions } = phase.inspected;
  if (unreported.length > 0) return repair(state, id, phase, failingIn(phase));
  if (suspicions.length > 0 && state.config.suspicious === "fail") {
    const message = `Phase ${id} passed in a way that looks wrong (suspicious: fail): ${suspicions.map(({ text }) => text).join("; ")}.`;
    return { type: "fail", failure: { category: "gate_failed", message, recommendation: "ask" } };
  }
  const planned = phaseOf(state, id);
  const reviews = (state.config.verify === "agent" || wantsReview(planned)) && planned.criteria.length > 0;
  if (reviews && phase.reviewed === undefined) return { type: "review" };
  const refused = (phase.reviewed ?? []).filter((verdict) => !verdict.passed);
  if (reviews && refused.length > 0) return repair(state, id, phase, failingIn(phase));
  return askPerson(
    state,
    id,
    phase,
    open.map((gate) => ({ id: gate.id, name: gate.name })),
  );
}

/** The name of the look that an agent asked for, among the gates. */
const HUMAN = "human";

/** Gates that a person must judge, and an agent that wants one to look: questions, with the work committed before. */
function askPerson(
  state: RunState,
  id: string,
  phase: Verifying,
  manual: readonly { id: string; name: string }[],
): Verified {
  const { attempt } = phase;
  const looked = phase.human === undefined || phase.results.some(({ gate }) => gate === HUMAN);
  const asked = looked ? manual[0] : { id: HUMAN, name: phase.human ?? "" };
  if (asked === undefined) return { type: "passed" };
  const question = commandId(id, attempt, "ask", `r${phase.remediations}`, asked.id, `e${state.epoch}`);
  const known = state.questions.get(question);
  if (known === undefined) {
    if (!phase.settled) return { type: "settle" };
    const text = looked
      ? `Everything that can be run has passed in phase ${id}. Please look at: ${asked.name}`
      : `The agent of phase ${id} wants a person to verify its work: ${asked.name}`;
    const { ask_timeout_minutes: minutes } = state.config;
    const kind = looked ? "gate" : "verify";
    const choices = VERDICT_CHOICES;
    return {
      type: "conclude",
      fact: { type: "question-asked", question, kind, phase: id, text, choices, fallback: "later", minutes },
    };
  }
  switch (known.answer?.choice) {
    case undefined:
      return { type: "wait" };
    case "later":
      return {
        type: "fail",
        failure: {
          category: "human_needed",
          message: `A person must look at phase ${id}: ${asked.name}. Then: segno resume ${state.run}, and answer; or mark it as done in the plan; or segno skip ${id}`,
          recommendation: "ask",
        },
      };
    default: {
      const passed = known.answer?.choice === "pass";
      const fact: Fact = {
        type: "gate-finished",
        command: question,
        phase: id,
        attempt,
        gate: asked.id,
        name: asked.name,
        round: phase.remediations,
        passed,
        exit: null,
        ms: 0,
        why: `${passed ? "passed" : "refused"} by a person (${known.answer?.by})`,
        output: "sha256:",
      };
      return { type: "conclude", fact };
    }
  }
}

const MOST_ISSUES = 3;
const MUCH_OF_A_WINDOW = 60;

/** One more repair, unless it is plain that repairing does not help. */
function repair(state: RunState, id: string, phase: Verifying, failing: readonly GateResult[]): Verified {
  const names = failing.map((result) => `${result.name} (${result.why})`).join(", ");
  const fail = (why: string, recommendation: PhaseFailure["recommendation"] = "retry"): Verified => ({
    type: "fail",
    failure: { category: "gate_failed", message: `Phase ${id} is not done: ${why}: ${names}.`, recommendation },
  });
  const { remediations } = phase;
  const tries = remediations === 0 ? "" : ` after ${remediations} attempts to repair it`;
  if (remediations >= state.config.max_remediations) return fail(`its gates fail${tries}`);
  if (remediations >= 2 && alwaysOther([...phase.failures, failing.map((result) => result.gate)]))
    return fail(`other gates fail after each of ${remediations} repairs`, "ask");
  if (growing(phase.lines))
    return fail(`each repair changes more than the one before it, and its gates still fail${tries}`, "ask");
  const expected = state.forecast.get(id)?.percent ?? 0;
  if (failing.length > MOST_ISSUES && expected > MUCH_OF_A_WINDOW) {
    const why = `${failing.length} gates fail, and repairing them is expected to need ${expected} % of a session`;
    const wanted = wantsSplitForRepair(state, id, phase, `${why} (${names})`);
    return wanted === undefined ? fail(`${why}: split it`, "split") : { type: "split", wanted };
  }
  return { type: "repair" };
}

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
