/**
 * The meter: prompt of the next call = prompt of the last call + its output + what was appended since.
 *
 * Invariants
 * 1. Only main-thread calls move it, each message id once.
 * 2. Only the appended tail (and an output whose count is a placeholder) is ever estimated.
 * 3. The ratio of characters to tokens calibrates itself on every call that follows a tail.
 */
import { percentOf, type Reading } from "./reading.js";

export type MeterInput =
  | { type: "window"; window: number }
  /** A call began: the prompt it was sent with, as the API counted it. */
  | { type: "call-started"; id: string; model: string; prompt: number }
  /** What the call said, for when its output count is only a placeholder. */
  | { type: "call-content"; id: string; chars: number; toolCalls: number }
  /** The call's final output count. */
  | { type: "call-finished"; id: string; output: number }
  /** Something that the next call will carry: a tool's result or a user's message. `key` counts it once. */
  | { type: "appended"; key: string; kind: "tool-result" | "user"; chars: number }
  | { type: "compacted" };

interface Anchor {
  id: string;
  prompt: number;
  output: number | undefined;
  contentChars: number;
  toolCalls: number;
}

export interface Meter {
  window: number;
  anchor: Anchor | undefined;
  tail: { keys: ReadonlySet<string>; chars: number; results: number };
  ratio: { chars: number; tokens: number; perResult: number };
  compacted: boolean;
}

export const DEFAULT_WINDOW = 200_000;
/** Measured on public sessions: characters per token, and what a tool result's framing costs. */
const GENERATIONS = { upTo46: { charsPerToken: 3.07, perResult: 31 }, later: { charsPerToken: 2.2, perResult: 21 } };
/** How many characters of evidence the measured ratio is worth before a session's own takes over. */
const PRIOR_CHARS = 4_000;
const OUTPUT_CHARS_PER_TOKEN = 3.1;
const OUTPUT_PER_TOOL_CALL = 83;

export const newMeter = (window = DEFAULT_WINDOW): Meter => ({
  window,
  anchor: undefined,
  tail: EMPTY_TAIL,
  ratio: priorRatio(""),
  compacted: false,
});

const EMPTY_TAIL: Meter["tail"] = { keys: new Set(), chars: 0, results: 0 };

function priorRatio(model: string): Meter["ratio"] {
  const version = /-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/.exec(model);
  const generation = version === null ? 0 : Number(version[1]) + Number(version[2] ?? 0) / 10;
  const { charsPerToken, perResult } = generation > 4.65 ? GENERATIONS.later : GENERATIONS.upTo46;
  return { chars: PRIOR_CHARS, tokens: PRIOR_CHARS / charsPerToken, perResult };
}

export function meter(state: Meter, input: MeterInput): Meter {
  switch (input.type) {
    case "window":
      return { ...state, window: input.window };
    case "call-started": {
      if (state.anchor?.id === input.id) return state;
      const ratio = state.anchor === undefined ? priorRatio(input.model) : calibrate(state, input.prompt);
      const anchor = { id: input.id, prompt: input.prompt, output: undefined, contentChars: 0, toolCalls: 0 };
      return { ...state, anchor, ratio, tail: EMPTY_TAIL, compacted: false };
    }
    case "call-content": {
      if (state.anchor?.id !== input.id) return state;
      const contentChars = state.anchor.contentChars + input.chars;
      return {
        ...state,
        anchor: { ...state.anchor, contentChars, toolCalls: state.anchor.toolCalls + input.toolCalls },
      };
    }
    case "call-finished":
      return state.anchor?.id === input.id ? { ...state, anchor: { ...state.anchor, output: input.output } } : state;
    case "appended": {
      if (state.tail.keys.has(input.key)) return state;
      return {
        ...state,
        tail: {
          keys: new Set([...state.tail.keys, input.key]),
          chars: state.tail.chars + input.chars,
          results: state.tail.results + (input.kind === "tool-result" ? 1 : 0),
        },
      };
    }
    case "compacted":
      return { ...state, anchor: undefined, tail: EMPTY_TAIL, compacted: true };
    default:
      return input satisfies never;
  }
}

/** Learns the ratio from the call that just reported: what the tail really weighed. */
function calibrate(state: Meter, prompt: number): Meter["ratio"] {
  const { anchor, tail, ratio } = state;
  if (anchor?.output === undefined || tail.chars < 200) return ratio;
  const weighed = prompt - anchor.prompt - anchor.output - tail.results * ratio.perResult;
  // Shrinkage, or a result the stream never showed: nothing to learn from.
  if (weighed <= 0 || weighed > tail.chars) return ratio;
  return { ...ratio, chars: ratio.chars + tail.chars, tokens: ratio.tokens + weighed };
}

export function readMeter(state: Meter): Reading {
  const { anchor, tail, ratio, window } = state;
  const charsPerToken = ratio.chars / ratio.tokens;
  const tailTokens = Math.round(tail.chars / charsPerToken) + tail.results * ratio.perResult;
  if (anchor === undefined) {
    const source = state.compacted ? "unknown" : "estimated";
    return { tokens: tailTokens, window, percent: percentOf(tailTokens, window), source, margin: tailTokens };
  }
  const output =
    anchor.output ?? Math.round(anchor.contentChars / OUTPUT_CHARS_PER_TOKEN) + anchor.toolCalls * OUTPUT_PER_TOOL_CALL;
  const tokens = anchor.prompt + output + tailTokens;
  const guessed = (anchor.output === undefined ? output : 0) + tailTokens;
  const exact = guessed === 0;
  const margin = exact ? 0 : Math.ceil(guessed * 0.3);
  return { tokens, window, percent: percentOf(tokens, window), source: exact ? "exact" : "anchored", margin };
}
