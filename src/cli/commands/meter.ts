import { createReadStream, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { TranscriptMeter } from "../../agents/claude/transcript.js";
import { priceOf } from "../../agents/prices.js";
import { lineReader, linesIn } from "../../agents/transcripts.js";
import { type EvaluatedSession, evaluate, THRESHOLDS } from "../../context/evaluate.js";
import { DEFAULT_WINDOW } from "../../context/meter.js";
import { costAt } from "../../context/prices.js";
import { thousands } from "../../view/numbers.js";
import { table } from "../../view/table.js";
import type { Work } from "../../view/what-if.js";
import { EXIT } from "../exit.js";
import { printFailure } from "../print-failure.js";
import { showWhatIf, whatIfOfRun } from "../what-if.js";

interface Session {
  name: string;
  read: TranscriptMeter;
  window: number;
  damaged: number;
}

export interface MeterFlags {
  json?: boolean;
  evaluate?: boolean;
  whatIf?: boolean;
  html?: string;
}

/** Transcripts of agents, or captured stream-json: how full their windows were, and how well that was foreseen. */
export async function meterCommand(paths: string[], flags: MeterFlags): Promise<number> {
  const json = flags.json === true;
  if (flags.html !== undefined && flags.whatIf !== true)
    return printFailure({ type: "usage", what: "--html draws what --what-if found.", fix: "Add --what-if." }, json);
  if (paths.length === 0) {
    if (flags.whatIf === true) return whatIfOfRun(undefined, flags);
    const fix = NAME_SOME;
    return printFailure({ type: "usage", what: "No transcript was named.", fix }, json);
  }
  const missing = paths.find((path) => !existsSync(path));
  if (missing !== undefined) {
    return printFailure(
      {
        type: "usage",
        what: `There is no file or folder ${missing}.`,
        fix: NAME_SOME,
      },
      json,
    );
  }
  const sessions: Session[] = [];
  for (const file of paths.flatMap(transcriptsIn)) {
    const session = await readTranscript(file, flags.evaluate === true);
    if (session.read.calls.length > 0) sessions.push(session);
  }
  if (sessions.length === 0) {
    return printFailure(
      {
        type: "usage",
        what: "No model call was found in these files.",
        fix: "Name transcripts of Claude Code or Codex (*.jsonl), what `opencode export ID` printed (*.json), or what `claude -p --output-format stream-json --verbose` did.",
      },
      json,
    );
  }
  if (flags.whatIf === true) return showWhatIf(sessions.map(workOf), flags);
  if (flags.evaluate === true) showEvaluation(sessions, json);
  else showSessions(sessions, json);
  return EXIT.done;
}

function workOf({ name, read, window }: Session): Work {
  const model = read.worked.at(-1)?.model ?? "";
  return { name, model, window, calls: read.worked, price: priceOf(model) };
}

function transcriptsIn(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".jsonl"))
    .sort()
    .map((name) => join(path, name));
}

async function readTranscript(file: string, foresees: boolean): Promise<Session> {
  const read = new TranscriptMeter({ foresees });
  let damaged = 0;
  let lines: ReturnType<typeof lineReader> | undefined;
  const whole = file.endsWith(".json") ? wholeOf(file) : undefined;
  for (const line of whole ?? []) read.take(line);
  for await (const line of whole === undefined ? linesOf(file) : []) {
    if (line === "") continue;
    try {
      const value: unknown = JSON.parse(line);
      lines ??= lineReader(value);
      for (const each of lines(value)) read.take(each);
    } catch {
      damaged++;
    }
  }
  const peak = read.calls.reduce((most, call) => Math.max(most, call.truth), 0);
  return {
    name: basename(file).replace(/\.jsonl?$/, ""),
    read,
    window: peak > DEFAULT_WINDOW ? 1_000_000 : DEFAULT_WINDOW,
    damaged,
  };
}

const NAME_SOME =
  "Name transcripts (*.jsonl) or folders that hold them, for example ~/.claude/projects or ~/.codex/sessions; opencode keeps a database: name what `opencode export ID > session.json` wrote.";

/** Undefined where it is no transcript in one piece. */
function wholeOf(file: string): unknown[] | undefined {
  try {
    return linesIn(JSON.parse(readFileSync(file, "utf8")));
  } catch {
    return undefined;
  }
}

/** Lines of a file of any size; a character that is cut by a chunk's end stays whole. */
async function* linesOf(file: string): AsyncGenerator<string> {
  let rest = "";
  for await (const chunk of createReadStream(file, { encoding: "utf8", highWaterMark: 1 << 18 })) {
    const text = rest + (chunk as string);
    let start = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", start)) {
      yield text.slice(start, end);
      start = end + 1;
    }
    rest = text.slice(start);
  }
  if (rest !== "") yield rest;
}

function figuresOf({ name, read, window, damaged }: Session) {
  const prompts = read.calls.map((call) => call.truth);
  const peak = Math.max(...prompts);
  const usages = [...read.usage];
  const sum = (pick: "input" | "cacheRead" | "cacheWrite" | "output") =>
    usages.reduce((total, [, usage]) => total + usage[pick], 0);
  const costs = usages.map(([model, usage]) => costAt(priceOf(model), usage));
  return {
    session: name,
    models: [...read.models],
    calls: prompts.length,
    first: prompts[0] ?? 0,
    peak,
    window,
    percent: Math.round((peak / window) * 1_000) / 10,
    compactions: read.compactions.length,
    subagent_calls: read.subagentCalls,
    tokens: {
      input: sum("input"),
      cache_read: sum("cacheRead"),
      cache_write: sum("cacheWrite"),
      output: sum("output"),
    },
    cost_usd: costs.includes(undefined)
      ? null
      : Math.round(costs.reduce((total: number, cost) => total + (cost ?? 0), 0) * 100) / 100,
    damaged_lines: damaged,
  };
}

function showSessions(sessions: readonly Session[], json: boolean): void {
  const figures = sessions.map(figuresOf);
  if (json) {
    console.log(JSON.stringify({ sessions: figures }));
    return;
  }
  for (const [index, session] of sessions.entries()) {
    const { calls, first, peak, percent, compactions, subagent_calls, tokens, cost_usd, damaged_lines } = figures[
      index
    ] as ReturnType<typeof figuresOf>;
    const all = tokens.input + tokens.cache_read + tokens.cache_write + tokens.output;
    console.log(
      `${session.name}\n  ${calls} calls, first ${thousands(first)}, peak ${thousands(peak)} (${percent} % of ${thousands(session.window)}), ${compactions} compactions, ${subagent_calls} calls of sub-agents, ${thousands(all)} tokens, ${cost_usd === null ? "cost unknown" : `$${cost_usd.toFixed(2)}`}${damaged_lines > 0 ? `, ${damaged_lines} damaged lines skipped` : ""}`,
    );
    console.log(`${chart(session)}\n`);
  }
}

const WIDTH = 72;
const BARS = " ▁▂▃▄▅▆▇█";

/** The window filling over the calls; compactions are marked below. */
function chart({ read, window }: Session): string {
  const { calls, compactions } = read;
  const columns = Math.min(WIDTH, calls.length);
  const at = (column: number): number => Math.floor((column * calls.length) / columns);
  let bars = "";
  let marks = "";
  for (let column = 0; column < columns; column++) {
    const slice = calls.slice(at(column), Math.max(at(column) + 1, at(column + 1)));
    const share = Math.max(...slice.map((call) => call.truth)) / window;
    bars += BARS[Math.min(8, Math.max(1, Math.round(share * 8)))];
    marks += compactions.some((call) => call >= at(column) && call < at(column + 1)) ? "^" : " ";
  }
  return `  ${bars}${marks.trim() === "" ? "" : `\n  ${marks}  ^ compaction`}`;
}

function showEvaluation(sessions: readonly Session[], json: boolean): void {
  const judged: EvaluatedSession[] = sessions.map(({ read, window }) => ({ window, calls: read.calls }));
  const methods = Object.keys(judged[0]?.calls[0]?.expected ?? {}).filter((method) => method !== "segno");
  const own = evaluate(judged, "segno");
  const baselines = Object.fromEntries(methods.map((method) => [method, evaluate(judged, method)]));
  if (json) {
    console.log(
      JSON.stringify({
        sessions: sessions.length,
        ...own,
        baselines,
        damaged_lines: sessions.reduce((sum, session) => sum + session.damaged, 0),
      }),
    );
    return;
  }
  console.log(
    `${sessions.length} sessions, ${own.predictions} predictions of the next call's prompt. Error in percent of the true size.\n`,
  );
  const rows = [["segno", own] as const, ...Object.entries(baselines)].map(([name, { error, thresholds }]) => [
    name,
    ...[error.median, error.p90, error.p99, error.bias].map(String),
    ...THRESHOLDS.map((percent) => {
      const { exact = 0, early = 0, late = 0, never = 0 } = thresholds[percent] ?? {};
      return `${exact} / ${early} / ${late} / ${never}`;
    }),
  ]);
  console.log(
    table(["way of counting", "median", "p90", "p99", "bias", ...THRESHOLDS.map((percent) => `at ${percent} %`)], rows),
  );
  console.log("\nAt a threshold: sessions in which the way of counting said so exactly / early / late / never.");
}
