/**
 * The meter: prompt of the next call = prompt of the last call + its output + what was appended since.
 *
 * Invariants
 * 1. Only main-thread calls move it, each message id once.
 * 2. Only the appended tail (and an output whose count is a placeholder) is ever estimated.
 * 3. The estimate corrects itself on every call that follows one.
 */
import { type ContentKind, type Ratios, ratiosFor } from "./ratios.js";
import { percentOf, type Reading } from "./reading.js";

export type MeterInput =
  | { type: "window"; window: number }
  /** A call began: the prompt it was sent with, as the API counted it. */
  | { type: "call-started"; id: string; model: string; prompt: number }
  /** What the call said, for when its output count is only a placeholder. */
  | { type: "call-content"; id: string; text: number; thinking: number; toolInput: number; toolCalls: number }
  /** The call's final output count. */
  | { type: "call-finished"; id: string; output: number }
  /** Something that the next call will carry. `key` counts it once. */
  | { type: "appended"; key: string; kind: ContentKind; chars: number; isResult: boolean; images?: number }
  | { type: "compacted" };

interface Anchor {
  id: string;
  model: string;
  prompt: number;
  output: number | undefined;
  /** What the output is estimated at from its content. */
  said: number;
}

export interface Meter {
  window: number;
  ratios: Ratios;
  anchor: Anchor | undefined;
  /** What was appended since the anchor: estimated tokens, before the session's own factor. */
  tail: { keys: ReadonlySet<string>; tokens: number };
  /** What tails were estimated at and what they weighed, in this session: their quotient corrects the next. */
  learned: { estimated: number; weighed: number };
  compacted: boolean;
}

export const DEFAULT_WINDOW = 200_000;
/** How many tokens of evidence the fitted ratios are worth before a session's own take over. */
const PRIOR_TOKENS = 3_000;
/** A tail smaller than this teaches nothing but noise. */
const LEAST_TAIL = 60;
const EMPTY_TAIL: Meter["tail"] = { keys: new Set(), tokens: 0 };
const NOTHING_LEARNED: Meter["learned"] = { estimated: PRIOR_TOKENS, weighed: PRIOR_TOKENS };

export const newMeter = (window = DEFAULT_WINDOW): Meter => ({
  window,
  ratios: ratiosFor(""),
  anchor: undefined,
  tail: EMPTY_TAIL,
  learned: NOTHING_LEARNED,
  compacted: false,
});

export function meter(state: Meter, input: MeterInput): Meter {
  switch (input.type) {
    case "window":
      return { ...state, window: input.window };
    case "call-started":
      return callStarted(state, input);
    case "call-content": {
      const { anchor, ratios } = state;
      if (anchor?.id !== input.id) return state;
      const { text, thinking, toolInput, perToolCall } = ratios.output;
      const said =
        input.text / text + input.thinking / thinking + input.toolInput / toolInput + input.toolCalls * perToolCall;
      return { ...state, anchor: { ...anchor, said: anchor.said + said } };
    }
    case "call-finished":
      return state.anchor?.id === input.id ? { ...state, anchor: { ...state.anchor, output: input.output } } : state;
    case "appended": {
      if (state.tail.keys.has(input.key)) return state;
      const { chars, perResult, perImage } = state.ratios;
      const tokens =
        input.chars / chars[input.kind] + (input.isResult ? perResult : 0) + (input.images ?? 0) * perImage;
      return { ...state, tail: { keys: new Set([...state.tail.keys, input.key]), tokens: state.tail.tokens + tokens } };
    }
    case "compacted":
      return { ...state, anchor: undefined, tail: EMPTY_TAIL, compacted: true };
    default:
      return input satisfies never;
  }
}

function callStarted(state: Meter, { id, model, prompt }: Extract<MeterInput, { type: "call-started" }>): Meter {
  if (state.anchor?.id === id) return state;
  const switched = state.anchor !== undefined && state.anchor.model !== model;
  const ratios = state.anchor === undefined || switched ? ratiosFor(model) : state.ratios;
  // Another model may have another tokenizer: what was learned of the old one says nothing about it.
  const learned = switched && ratios !== state.ratios ? NOTHING_LEARNED : learn(state, prompt);
  const anchor = { id, model, prompt, output: undefined, said: 0 };
  return { ...state, anchor, ratios, learned, tail: EMPTY_TAIL, compacted: false };
}

/** What the tail really weighed, from the call that just reported. */
function learn({ anchor, tail, learned }: Meter, prompt: number): Meter["learned"] {
  if (anchor?.output === undefined || tail.tokens < LEAST_TAIL) return learned;
  const weighed = prompt - anchor.prompt - anchor.output;
  // Shrinkage, or something the stream never showed: nothing to learn from.
  if (weighed < tail.tokens / 2.5 || weighed > tail.tokens * 2.5) return learned;
  return { estimated: learned.estimated + tail.tokens, weighed: learned.weighed + weighed };
}

export function readMeter({ anchor, tail, learned, window, compacted }: Meter): Reading {
  const tailTokens = Math.round((tail.tokens * learned.weighed) / learned.estimated);
  if (anchor === undefined) {
    const source = compacted ? "unknown" : "estimated";
    return { tokens: tailTokens, window, percent: percentOf(tailTokens, window), source, margin: tailTokens };
  }
  const output = anchor.output ?? Math.round(anchor.said);
  const tokens = anchor.prompt + output + tailTokens;
  const guessed = (anchor.output === undefined ? output : 0) + tailTokens;
  const margin = Math.ceil(guessed * 0.3);
  return { tokens, window, percent: percentOf(tokens, window), source: guessed === 0 ? "exact" : "anchored", margin };
}
