/**
 * Whether a handover pays, in dollars of the model in use; where its price is not known, in tokens of input at the
 * usual ratios.
 *
 * Every call pays again for all that the session carries beyond what a fresh one would. A handover pays
 * 1. if what the calls that are left would still carry costs at least twice what it costs, and
 * 2. if waiting longer would not make it cheaper: the next call's load is at least the average, with the handover's own
 *    cost spread over the calls so far. Without this a long phase would be handed over after every second task.
 */
import { type CallUsage, costOf, LIST_RATIOS, type Price } from "./prices.js";

export interface Economy {
  /** Undefined: not known. */
  price: Price | undefined;
  /** Calls of this session, and by how much their prompts were above its first, summed. */
  calls: number;
  carried: number;
  /** Calls that the phase will still need. */
  callsLeft: number;
  /** What a handover costs here. */
  handover: number;
  /** Tokens that a fresh session reads again, and then carries, too. */
  reread: number;
}

/** What a session's first call cost beyond a call whose prompt is cached, as it would be in a session that goes on. */
export const startCost = (usage: CallUsage, price: Price = LIST_RATIOS): number =>
  costOf(price, { ...usage, output: 0 }) - ((usage.input + usage.cacheRead + usage.cacheWrite) * price.cacheRead) / 1e6;

/** What a checkpoint's calls cost beyond writing the tail to the cache, which the next call would have done. */
export const checkpointCost = (usage: CallUsage, price: Price = LIST_RATIOS): number =>
  costOf(price, { ...usage, cacheWrite: 0 });

const ENOUGH = 2;

export function weighHandover(
  tokens: number,
  firstPrompt: number,
  economy: Economy,
): { worth: boolean; reason: string } {
  const { price, calls, carried, callsLeft, handover, reread } = economy;
  const { cacheRead } = price ?? LIST_RATIOS;
  const extra = Math.max(0, tokens - firstPrompt - reread);
  const load = (extra * cacheRead) / 1e6;
  const saving = load * callsLeft;
  const average = (handover + (Math.max(0, carried - reread * calls) * cacheRead) / 1e6) / Math.max(1, calls);
  const say = (value: number) => (price === undefined ? `${Math.round(value)} tokens` : dollars(value));
  return {
    worth: saving >= ENOUGH * handover && load >= average,
    reason: `rereading ${Math.round(extra)} tokens in ${Math.round(callsLeft)} calls that are left would cost ${say(saving)}, at least ${ENOUGH} × ${say(handover)} for a handover; the next call's share ${say(load)} is at least the average ${say(average)}`,
  };
}

const dollars = (value: number): string => `$${value >= 0.1 ? value.toFixed(2) : value.toFixed(4)}`;

/** A checkpoint's answer, before one was measured. */
const USUAL_ANSWER = 800;
const USUAL_CHECKPOINT = 1_000;
const USUAL_REREADING = 2_000;

export interface HandoverCosts {
  price: Price | undefined;
  /** What checkpoint turns used in this run. */
  checkpoints: readonly CallUsage[];
  /** What first calls of sessions after a handover used in this run, newest last. */
  starts: readonly CallUsage[];
  /** The first prompt of this session, and what Segno said in it: the rest is cached for the next one too. */
  firstPrompt: number;
  promptTokens: number;
  /** Tokens that sessions which went on from a checkpoint read before they wrote anything: in this run, and before it. */
  rereading: readonly number[];
}

/** What a handover costs now, as measured in this run, else as one may expect. */
export function handoverCost(tokens: number, costs: HandoverCosts): number {
  const { checkpoints, starts, rereading, firstPrompt, promptTokens } = costs;
  const price = costs.price ?? LIST_RATIOS;
  const usual = { input: 0, cacheRead: tokens, cacheWrite: 0, output: USUAL_ANSWER };
  const checkpoint = mean(checkpoints.map((usage) => checkpointCost(usage, price))) ?? checkpointCost(usual, price);
  const newest = starts.at(-1);
  const fresh = Math.min(firstPrompt, promptTokens) + USUAL_CHECKPOINT;
  const start =
    newest === undefined ? (fresh * (price.cacheWrite - price.cacheRead)) / 1e6 : Math.max(0, startCost(newest, price));
  return checkpoint + start + (rereadTokens(rereading) * price.cacheWrite) / 1e6;
}

/** What a fresh session reads again, as it was measured; else as one may expect. */
export const rereadTokens = (rereading: readonly number[]): number => mean(rereading) ?? USUAL_REREADING;

const mean = (values: readonly number[]): number | undefined =>
  values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length;
