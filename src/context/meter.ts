/**
 * The meter: prompt of the next call = prompt of the last call + its output + what was appended since.
 *
 * Invariants
 * 1. Only main-thread calls move it, each message id once.
 * 2. Only the appended tail (and an output whose count is a placeholder) is ever estimated.
 * 3. The estimate corrects itself on every call that follows one.
 * 4. A call that reports nothing keeps the last anchor, and what it said joins the tail.
 */
import { type ContentKind, type Ratios, ratiosFor } from "./ratios.js";
import { percentOf, type Reading } from "./reading.js";

export type MeterInput =
  | { type: "window"; window: number }
  /** A call began: the prompt it was sent with, as the API counted it; 0 where nothing is reported. */
  | { type: "call-started"; id: string; model: string; prompt: number }
  /** What the call said, for when its output count is only a placeholder. */
  | { type: "call-content"; id: string; text: number; thinking: number; toolInput: number; toolCalls: number }
  /** The call's final output count. */
  | { type: "call-finished"; id: string; output: number }
  /** Something that the next call will carry. `key` counts it once. */
  | { type: "appended"; key: string; kind: ContentKind; chars: number; isResult: boolean; images?: number }
  /** The agent summed its context up; `after`: to how many tokens, where it says so. */
  | { type: "compacted"; after?: number | undefined }
  /** The agent cleared old tool results without a summary. */
  | { type: "shrunk"; saved: number };

interface Anchor {
  id: string;
  model: string;
  prompt: number;
  output: number | undefined;
  /** What the output is estimated at from its content. */
  said: number;
}

/** What came into the window of a session, by where it came from; in tokens. */
export interface Sources {
  reads: number;
  outputs: number;
  prompts: number;
  words: number;
}

/** Changed in place by `meter` alone. */
export interface Meter {
  window: number;
  ratios: Ratios;
  anchor: Anchor | undefined;
  /** What was appended since the anchor: estimated tokens, before the session's own factor. */
  tail: { keys: Set<string>; tokens: number };
  /** What tails were estimated at and what they weighed, in this session: their quotient corrects the next. */
  learned: { estimated: number; weighed: number };
  /** Tokens a context begins with before anything is reported, and whether that was seen or is a general figure. */
  offset: { tokens: number; seen: boolean };
  /** The prompt of the first call. */
  first: number | undefined;
  /** After a compaction, until the next call reports: what is left, as far as one can tell. */
  compacted: number | undefined;
  /** The newest call, if it reported no usage. */
  silent: string | undefined;
  /** By how much the recent calls grew, newest last. */
  growth: number[];
  /** Sizes of the recent tool results, in tokens. */
  results: number[];
  sources: Sources;
}

export const DEFAULT_WINDOW = 200_000;
/** How many tokens of evidence the fitted ratios are worth before a session's own take over. */
const PRIOR_TOKENS = 3_000;
/** A tail smaller than this teaches nothing but noise. */
const LEAST_TAIL = 60;
/** What public sessions began with, fitted for agents that report nothing. */
const USUAL_FIRST_PROMPT = 31_600;
/** What a compaction left, as a multiple of the first prompt (86 of them). */
const LEFT_BY_COMPACTION = 1.34;
/** How far pure estimates were off in nine of ten cases: with a general first prompt, and with a known one. */
const MARGIN = { general: 0.37, seen: 0.18, anchored: 0.3 };
const RECENT_CALLS = 8;
const RECENT_RESULTS = 200;

/** `firstPrompt`: what sessions of this agent began with here before, if that was ever seen. */
export const newMeter = (window = DEFAULT_WINDOW, firstPrompt?: number): Meter => ({
  window,
  ratios: ratiosFor(""),
  anchor: undefined,
  tail: { keys: new Set(), tokens: 0 },
  learned: nothingLearned(),
  offset: { tokens: firstPrompt ?? USUAL_FIRST_PROMPT, seen: firstPrompt !== undefined },
  first: undefined,
  compacted: undefined,
  silent: undefined,
  growth: [],
  results: [],
  sources: { reads: 0, outputs: 0, prompts: 0, words: 0 },
});

const nothingLearned = (): Meter["learned"] => ({ estimated: PRIOR_TOKENS, weighed: PRIOR_TOKENS });

export function meter(state: Meter, input: MeterInput): Meter {
  switch (input.type) {
    case "window":
      state.window = input.window;
      break;
    case "call-started":
      callStarted(state, input);
      break;
    case "call-content":
      callContent(state, input);
      break;
    case "call-finished": {
      const { anchor } = state;
      if (anchor?.id !== input.id) break;
      state.sources.words += input.output - (anchor.output ?? 0);
      anchor.output = input.output;
      break;
    }
    case "appended":
      appended(state, input);
      break;
    case "compacted":
      state.compacted = input.after ?? Math.round((state.first ?? state.offset.tokens) * LEFT_BY_COMPACTION);
      state.anchor = undefined;
      emptyTail(state);
      break;
    case "shrunk":
      if (state.anchor !== undefined) state.anchor.prompt = Math.max(0, state.anchor.prompt - input.saved);
      break;
    default:
      input satisfies never;
  }
  return state;
}

function emptyTail({ tail }: Meter): void {
  tail.keys.clear();
  tail.tokens = 0;
}

function callStarted(state: Meter, { id, model, prompt }: Extract<MeterInput, { type: "call-started" }>): void {
  const { anchor } = state;
  if (anchor?.id === id || state.silent === id) return;
  if (prompt === 0) {
    state.silent = id;
    return;
  }
  const switched = anchor !== undefined && anchor.model !== model;
  const ratios = anchor === undefined || switched ? ratiosFor(model) : state.ratios;
  // Another model may have another tokenizer: what was learned of the old one says nothing about it.
  if (switched && ratios !== state.ratios) state.learned = nothingLearned();
  else learn(state, prompt);
  if (anchor !== undefined && prompt > anchor.prompt) keepRecent(state.growth, prompt - anchor.prompt, RECENT_CALLS);
  state.first ??= prompt;
  state.anchor = { id, model, prompt, output: undefined, said: 0 };
  state.ratios = ratios;
  state.compacted = undefined;
  state.silent = undefined;
  emptyTail(state);
}

function callContent(state: Meter, input: Extract<MeterInput, { type: "call-content" }>): void {
  const { text, thinking, toolInput, perToolCall } = state.ratios.output;
  const said =
    input.text / text + input.thinking / thinking + input.toolInput / toolInput + input.toolCalls * perToolCall;
  if (state.anchor?.id === input.id) state.anchor.said += said;
  else if (state.silent === input.id) {
    state.tail.tokens += said;
    state.sources.words += said;
  }
}

function appended(state: Meter, input: Extract<MeterInput, { type: "appended" }>): void {
  const { tail, ratios, sources } = state;
  if (tail.keys.has(input.key)) return;
  const tokens =
    input.chars / ratios.chars[input.kind] +
    (input.isResult ? ratios.perResult : 0) +
    (input.images ?? 0) * ratios.perImage;
  tail.keys.add(input.key);
  tail.tokens += tokens;
  if (input.isResult) keepRecent(state.results, tokens, RECENT_RESULTS);
  if (input.kind === "read") sources.reads += tokens;
  else if (input.isResult) sources.outputs += tokens;
  else sources.prompts += tokens;
}

function keepRecent(list: number[], value: number, most: number): void {
  list.push(value);
  if (list.length > most) list.shift();
}

/** What the tail really weighed, from the call that just reported. */
function learn({ anchor, tail, learned }: Meter, prompt: number): void {
  if (anchor?.output === undefined || tail.tokens < LEAST_TAIL) return;
  const weighed = prompt - anchor.prompt - anchor.output;
  // Shrinkage, or something the stream never showed: nothing to learn from.
  if (weighed < tail.tokens / 2.5 || weighed > tail.tokens * 2.5) return;
  learned.estimated += tail.tokens;
  learned.weighed += weighed;
}

export function readMeter({ anchor, tail, learned, window, compacted, offset }: Meter): Reading {
  const tailTokens = Math.round((tail.tokens * learned.weighed) / learned.estimated);
  const reading = (tokens: number, source: Reading["source"], margin: number): Reading => ({
    tokens,
    window,
    percent: percentOf(tokens, window),
    source,
    margin: Math.ceil(margin),
  });
  if (anchor !== undefined) {
    const output = anchor.output ?? Math.round(anchor.said);
    const guessed = (anchor.output === undefined ? output : 0) + tailTokens;
    const tokens = anchor.prompt + output + tailTokens;
    return reading(tokens, guessed === 0 ? "exact" : "anchored", guessed * MARGIN.anchored);
  }
  if (compacted !== undefined) {
    const tokens = compacted + tailTokens;
    return reading(tokens, "unknown", tokens * MARGIN.general);
  }
  const tokens = offset.tokens + tailTokens;
  return reading(tokens, "estimated", tokens * (offset.seen ? MARGIN.seen : MARGIN.general));
}

/** What the next call may add: the largest growth of the recent ones. */
export const expectedGrowth = ({ growth }: Meter): number => Math.max(0, ...growth);

/** The size that 99 of 100 recent tool results stay below. */
export function largeResult({ results }: Meter): number {
  const sorted = results.toSorted((a, b) => a - b);
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.99))] ?? 0);
}
