/**
 * The same work under another policy: what its calls would have cost if its session had been handed over elsewhere.
 *
 * What a call brought into the window stays what it was; what the window held before it is what the policy leaves
 * there. Assumed, because a transcript does not tell: a checkpoint's answer and its size in the next prompt, what a
 * fresh session reads again, and that its system prompt is still cached. Not counted: what a compaction forgets and is
 * done again, and what a fresh session does better.
 */
import { handoverCost, weighHandover } from "./economy.js";
import { capFor } from "./policy.js";
import { type CallUsage, costOf, LIST_RATIOS, type Price } from "./prices.js";

export interface WorkedCall {
  usage: CallUsage;
  /** Something was finished before it: a task, a commit, what a person had asked for. */
  natural: boolean;
  /** The agent compacted its context before it. */
  compacted: boolean;
  /** Another session went on from here. */
  fresh?: boolean;
  /** Not for the work itself: a checkpoint was asked for. It is paid for only as it was. */
  aside?: boolean;
}

export type WhatIfPolicy =
  | { type: "as-it-was" }
  | { type: "never" }
  /** Handed over at this size, wherever the session is; `natural`: at a natural boundary from there on. */
  | { type: "at"; tokens: number; natural: boolean }
  | { type: "auto"; cap: number }
  | { type: "each-task" };

export interface Assumptions {
  /** What a fresh session reads again before it goes on. */
  reread: number;
  /** A checkpoint's question and its answer; its size in the next prompt. */
  question: number;
  answer: number;
  checkpoint: number;
  /** Of a first prompt, what is not cached for the next session: what Segno says about the phase. */
  fresh: number;
}

export const ASSUMED: Assumptions = { reread: 2_000, question: 250, answer: 800, checkpoint: 1_000, fresh: 2_000 };

export interface Outcome {
  usage: CallUsage;
  cost: number;
  calls: number;
  /** How many sessions it took, or how often it was compacted. */
  sessions: number;
  compactions: number;
  peak: number;
}

const promptOf = ({ input, cacheRead, cacheWrite }: CallUsage): number => input + cacheRead + cacheWrite;

/** What each call brought into the window beside what it held; where that is hidden, what the others brought as a rule. */
function growths(calls: readonly WorkedCall[]): number[] {
  const seen = calls.map(({ usage, compacted, fresh }, n) => {
    const before = calls[n - 1];
    if (before === undefined) return 0;
    const grown = promptOf(usage) - promptOf(before.usage);
    return compacted || fresh === true || grown < 0 ? undefined : grown;
  });
  const known = seen
    .slice(1)
    .flatMap((grown) => grown ?? [])
    .sort((a, b) => a - b);
  const usual = known[Math.floor(known.length / 2)] ?? 0;
  return seen.map((grown, n) => grown ?? Math.max(usual, calls[n - 1]?.usage.output ?? 0));
}

export function replay(
  calls: readonly WorkedCall[],
  policy: WhatIfPolicy,
  price: Price = LIST_RATIOS,
  assumed: Assumptions = ASSUMED,
): Outcome {
  const replayed = new Replay(calls, price, assumed);
  if (policy.type === "as-it-was") return replayed.asItWas();
  return replayed.under(policy);
}

class Replay {
  readonly #all: readonly WorkedCall[];
  readonly #calls: readonly WorkedCall[];
  readonly #price: Price;
  readonly #assumed: Assumptions;
  readonly #first: number;
  #usage: CallUsage = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0 };
  #made = 0;
  #sessions = 1;
  #peak = 0;

  constructor(calls: readonly WorkedCall[], price: Price, assumed: Assumptions) {
    this.#all = calls;
    this.#calls = calls.filter(({ aside }) => aside !== true);
    this.#price = price;
    this.#assumed = assumed;
    const [first] = this.#calls;
    this.#first = first === undefined ? 0 : promptOf(first.usage);
  }

  asItWas(): Outcome {
    for (const { usage } of this.#all) this.#add(usage);
    this.#sessions += this.#calls.filter(({ fresh }) => fresh === true).length;
    return this.#outcome(this.#calls.filter(({ compacted }) => compacted).length);
  }

  under(policy: Exclude<WhatIfPolicy, { type: "as-it-was" }>): Outcome {
    const grown = growths(this.#calls);
    let context = this.#first;
    let started = this.#first;
    let since = 0;
    let carried = 0;
    for (const [n, { usage, natural }] of this.#calls.entries()) {
      const next = context + (grown[n] ?? 0);
      const hands = n > 0 && since > 0 && this.#hands(policy, { next, natural, started, since, carried, n });
      if (hands) {
        this.#handOver(context);
        started = this.#first + this.#assumed.checkpoint;
        context = started + this.#assumed.reread;
        since = 0;
        carried = 0;
        // Its first call begins with what the work brings, in a prompt that is cached but for what Segno says.
        const fresh = Math.min(this.#first, this.#assumed.fresh) + this.#assumed.checkpoint;
        const written = fresh + this.#assumed.reread + (grown[n] ?? 0);
        this.#add({ input: 0, cacheRead: Math.max(0, started - fresh), cacheWrite: written, output: usage.output });
        context += grown[n] ?? 0;
      } else {
        const cached = n === 0 ? usage.cacheRead : context;
        const input = n === 0 ? usage.input : 0;
        this.#add({ input, cacheRead: cached, cacheWrite: Math.max(0, next - cached - input), output: usage.output });
        context = next;
      }
      since++;
      carried += Math.max(0, context - started);
    }
    return this.#outcome(0);
  }

  #hands(
    policy: Exclude<WhatIfPolicy, { type: "as-it-was" }>,
    at: { next: number; natural: boolean; started: number; since: number; carried: number; n: number },
  ): boolean {
    switch (policy.type) {
      case "never":
        return false;
      case "at":
        return at.next >= policy.tokens && at.started < policy.tokens && (at.natural || !policy.natural);
      case "each-task":
        return at.natural;
      case "auto":
        return at.next >= capFor(policy.cap, at.started) || (at.natural && this.#worth(at));
      default:
        return policy satisfies never;
    }
  }

  #worth({
    next,
    started,
    since,
    carried,
    n,
  }: {
    next: number;
    started: number;
    since: number;
    carried: number;
    n: number;
  }) {
    const price = this.#price;
    const { reread, fresh } = this.#assumed;
    const handover = handoverCost(next, {
      price,
      checkpoints: [],
      starts: [],
      firstPrompt: this.#first,
      promptTokens: fresh,
      rereading: [reread],
    });
    const economy = { price, calls: since, carried, callsLeft: this.#calls.length - n, handover, reread };
    return weighHandover(next, started, economy).worth;
  }

  #handOver(context: number): void {
    const { question, answer } = this.#assumed;
    this.#add({ input: 0, cacheRead: context, cacheWrite: question, output: answer });
    this.#sessions++;
  }

  #add(usage: CallUsage): void {
    this.#made++;
    this.#peak = Math.max(this.#peak, promptOf(usage));
    const { input, cacheRead, cacheWrite, output } = this.#usage;
    this.#usage = {
      input: input + usage.input,
      cacheRead: cacheRead + usage.cacheRead,
      cacheWrite: cacheWrite + usage.cacheWrite,
      output: output + usage.output,
    };
  }

  #outcome(compactions: number): Outcome {
    return {
      usage: this.#usage,
      cost: costOf(this.#price, this.#usage),
      calls: this.#made,
      sessions: this.#sessions,
      compactions,
      peak: this.#peak,
    };
  }
}

/** Tasks take about so many calls, where nothing says when one was finished. */
const USUAL_CALLS_PER_TASK = 10;

/** Where nothing that was finished shows, as if something was after every ten calls. */
export function withNatural(calls: readonly WorkedCall[]): { calls: readonly WorkedCall[]; assumed: boolean } {
  if (calls.some(({ natural }, n) => natural && n > 0)) return { calls, assumed: false };
  const natural = calls.map((call, n) => ({ ...call, natural: n > 0 && n % USUAL_CALLS_PER_TASK === 0 }));
  return { calls: natural, assumed: true };
}

/** The policies that people ask about, in a window of this size. */
export const policiesFor = (window: number, cap: number): { name: string; policy: WhatIfPolicy }[] => [
  { name: "as it was", policy: { type: "as-it-was" } },
  { name: "never handed over", policy: { type: "never" } },
  { name: "handed over at 80 %", policy: { type: "at", tokens: window * 0.8, natural: false } },
  { name: "after a task from 65 % on", policy: { type: "at", tokens: window * 0.65, natural: true } },
  { name: "auto, Segno's default", policy: { type: "auto", cap } },
  { name: "one session per task", policy: { type: "each-task" } },
];
