import { reportedIn } from "../../handover/ledger.js";
import { isAttempted } from "../../run/phase.js";
import { checkoutOf } from "../checkout.js";
import { changedByPhase } from "../checkpoint.js";
import type { HeldRun } from "../held-run.js";
import type { Performer } from "../performer.js";
import { putRight } from "../put-right.js";

/** How long to wait for a limit whose end is not known. */
const UNKNOWN_LIMIT_MS = 10 * 60_000;

/** Ends the session and every process it started. */
export const endSession: Performer<"end-session"> = async (held, { id, session, phase, attempt, reason }) => {
  const live = held.sessions.get(session);
  const state = held.run.state.sessions.get(session);
  const end = state?.step === "idle" ? state.end : undefined;
  const message = end !== undefined && "message" in end ? end.message : undefined;
  live?.measure();
  const silent = !reportedIn(held.run.ledger(phase), session);
  if (silent && reason !== "result" && reason !== "skipped" && live !== undefined) {
    held.run.warn(`Session ${session} reported no progress: the next one leans on git.`, phase);
  }
  const swept = (await live?.close()) ?? 0;
  held.sessions.delete(session);
  await putRight(held, phase);
  const lines = state?.purpose === "remediate" ? await linesChanged(held, phase) : undefined;
  const ended = { type: "session-ended", command: id, session, phase, attempt, reason, message, swept, lines } as const;
  const chance = reason === "api-error" ? Math.random() : undefined;
  if (reason !== "limit") {
    await held.run.record({ ...ended, chance });
    return;
  }
  const known = end?.type === "failed" ? end.until : undefined;
  // One that is over already was said by a clock that is wrong: it would be met again at once.
  const isAhead = known !== undefined && Date.parse(known) > held.now();
  const until = isAhead ? known : new Date(held.now() + UNKNOWN_LIMIT_MS).toISOString();
  const said = message ?? "a usage limit was reached";
  await held.run.record(ended, {
    type: "limit-reached",
    agent: state?.agent,
    ...accountOf(held, state?.agent),
    until,
    message: said,
  });
};

const accountOf = ({ accounts }: HeldRun, agent = ""): { account?: string } =>
  accounts?.[agent] === undefined ? {} : { account: accounts[agent] };

async function linesChanged(held: HeldRun, phase: string): Promise<number | undefined> {
  const { run } = held;
  const { git } = checkoutOf(held, phase);
  const state = run.state.phases.get(phase);
  if (!isAttempted(state)) return undefined;
  const files = await changedByPhase(git, state.attempt.origin.baseline, run.state.plan);
  return files?.reduce((sum, { added = 0, removed = 0 }) => sum + added + removed, 0);
}
