/**
 * Whether a handover pays, in input tokens at list price: a cached token costs a tenth, a written one 1.25, an output
 * token five.
 *
 * Every call pays again for all that the session carries beyond what a fresh one would. A handover pays
 * 1. if what the calls that are left would still carry is worth at least twice what it costs, and
 * 2. if waiting longer would not make it cheaper: the next call's load is at least the average, with the handover's own
 *    cost spread over the calls so far. Without this a long phase would be handed over after every second task.
 */
export const CACHE_READ = 0.1;
export const CACHE_WRITE = 1.25;
export const OUTPUT = 5;

export interface CallUsage {
  input: number;
  cacheRead: number;
  cacheWrite: number;
  output: number;
}

export interface Economy {
  /** Calls of this session, and by how much their prompts were above its first, summed. */
  calls: number;
  carried: number;
  /** Calls that the phase will still need. */
  callsLeft: number;
  /** What a handover costs here. */
  handover: number;
}

/** What a session's first call cost beyond a call whose prompt is cached, as it would be in a session that goes on. */
export const startWeight = (usage: CallUsage): number =>
  weightOf({ ...usage, output: 0 }) - (usage.input + usage.cacheRead + usage.cacheWrite) * CACHE_READ;

/** What a checkpoint's call cost beyond writing the tail to the cache, which the next call would have done. */
export const checkpointWeight = (usage: CallUsage): number => weightOf({ ...usage, cacheWrite: 0 });

/** What a call cost, in input tokens at list price. */
const weightOf = ({ input, cacheRead, cacheWrite, output }: CallUsage): number =>
  input + cacheRead * CACHE_READ + cacheWrite * CACHE_WRITE + output * OUTPUT;

const ENOUGH = 2;

export function weighHandover(
  tokens: number,
  firstPrompt: number,
  economy: Economy,
): { worth: boolean; reason: string } {
  const { calls, carried, callsLeft, handover } = economy;
  const load = Math.max(0, tokens - firstPrompt) * CACHE_READ;
  const saving = load * callsLeft;
  const average = (handover + carried * CACHE_READ) / Math.max(1, calls);
  const n = (value: number) => Math.round(value);
  return {
    worth: saving >= ENOUGH * handover && load >= average,
    reason: `${n(tokens - firstPrompt)} tokens × ${CACHE_READ} × ${n(callsLeft)} calls left = ${n(saving)}, at least ${ENOUGH} × ${n(handover)} for a handover; the next call's load ${n(load)} is at least the average ${n(average)}`,
  };
}

/** A checkpoint's answer, before one was measured. */
const USUAL_ANSWER = 800;
const USUAL_CHECKPOINT = 1_000;
const USUAL_REREADING = 2_000;

export interface HandoverCosts {
  /** What checkpoint turns cost in this run. */
  checkpoints: readonly number[];
  /** What first calls of sessions after a handover cost in this run, newest last. */
  starts: readonly number[];
  /** The first prompt of this session, and what Segno said in it: the rest is cached for the next one too. */
  firstPrompt: number;
  promptTokens: number;
  /** Tokens that sessions which went on from a checkpoint read before they wrote anything. */
  rereading: readonly number[];
}

/** What a handover costs now, as measured in this run, else as one may expect. */
export function handoverCost(tokens: number, costs: HandoverCosts): number {
  const { checkpoints, starts, rereading, firstPrompt, promptTokens } = costs;
  const checkpoint = mean(checkpoints) ?? tokens * CACHE_READ + USUAL_ANSWER * OUTPUT;
  const start = starts.at(-1) ?? (Math.min(firstPrompt, promptTokens) + USUAL_CHECKPOINT) * (CACHE_WRITE - CACHE_READ);
  const reread = (mean(rereading) ?? USUAL_REREADING) * CACHE_WRITE;
  return checkpoint + start + reread;
}

const mean = (values: readonly number[]): number | undefined =>
  values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length;
