/** Transcripts of every agent, as lines of one form: Claude Code's, which `TranscriptMeter` reads. */
import { isRollout, rolloutReader } from "./codex/transcript.js";
import { exportLines, isExport } from "./opencode/transcript.js";

/** By its first line: what each line means. */
export const lineReader = (first: unknown): ((value: unknown) => unknown[]) =>
  isRollout(first) ? rolloutReader() : (value) => [value];

/** A file that is one JSON value, if it is a transcript. */
export const linesIn = (whole: unknown): unknown[] | undefined => (isExport(whole) ? exportLines(whole) : undefined);
