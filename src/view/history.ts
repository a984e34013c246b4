/**
 * What happened in a run, folded from its events for the screens: readings, marks, activities, notices, figures. What
 * its state is, is not here: that is the run's own (`run/state.ts`), and `board.ts` puts the two side by side.
 */
import type { LayerSizes } from "../context/layers.js";
import type { FactOf, RunEvent, Usage } from "../run/event.js";
import { addUsage, tokensIn } from "../run/usage.js";
import { addReading, type BoardSession, newSession, percentOf, type Rules, rulesOf, windowOf } from "./readings.js";
import { takenText, workersText } from "./team.js";

/** What filled the phase's windows, over all its sessions, in tokens. */
export interface ContextFigures {
  /** The agent's own system prompt and tools. */
  system: number;
  /** What Segno said: the largest prompt, and all of them. */
  largest_prompt: number;
  prompt: number;
  file_reads: number;
  tool_output: number;
  words: number;
  /** The layers of its newest prompt, and what was left out of it. */
  layers: LayerSizes | undefined;
}

/** The figures of one phase over all its sessions. */
export interface PhaseHistory {
  sessions: number;
  /** Who worked on it, in order. */
  agents: string[];
  restarts: number;
  peak_percent: number;
  tokens: Usage & { total: number };
  /** As they stood when they were last run; `tail`: the last lines of one that did not pass. */
  gates: { name: string; passed: boolean; why: string; tail?: string | undefined }[];
  compactions: number;
  /** Tools that the agent may not use and tried to, with how often. */
  refused_tools: Record<string, number>;
  cost_usd: number | undefined;
  context: ContextFigures;
  startedAt: string | undefined;
  endedAt: string | undefined;
}

export interface Activity {
  at: string;
  phase: string | undefined;
  symbol: string;
  text: string;
  ok: boolean;
}

export type MarkKind =
  | "handover"
  | "compaction"
  | "limit"
  | "gate"
  | "question"
  | "split"
  | "merge"
  | "failed"
  | "done";

/** Something that happened and is worth a mark in the chart. */
export interface Mark {
  at: string;
  kind: MarkKind;
  phase: string | undefined;
  /** Tokens in the window then, where there was one. */
  tokens: number | undefined;
  text: string;
}

export type NoticeKind =
  | "warning"
  | "refused-commit"
  | "refused-tool"
  | "suspicion"
  | "circle"
  | "forecast"
  | "context";

/** Something that somebody should know of: every face draws all of them. */
export interface Notice {
  at: string;
  phase: string | undefined;
  kind: NoticeKind;
  text: string;
}

export interface History {
  seq: number;
  startedAt: string;
  /** The newest event's time. */
  now: string;
  spent: Usage & { total: number; calls: number; cost_usd: number | undefined };
  phases: Record<string, PhaseHistory>;
  sessions: BoardSession[];
  activities: Activity[];
  marks: Mark[];
  notices: Notice[];
  /** What is needed to fold on. */
  rules: Rules;
}

const MOST_ACTIVITIES = 80;
const MOST_MARKS = 600;
const MOST_NOTICES = 300;

const NONE: Usage & { total: number } = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, total: 0 };

function begin({ seq, at, config }: FactOf<"run-started"> & RunEvent): History {
  return {
    seq,
    startedAt: at,
    now: at,
    spent: { ...NONE, calls: 0, cost_usd: 0 },
    phases: {},
    sessions: [],
    activities: [],
    marks: [],
    notices: [],
    rules: rulesOf(config),
  };
}

export const noHistory = (): PhaseHistory => ({
  sessions: 0,
  agents: [],
  restarts: 0,
  peak_percent: 0,
  tokens: { ...NONE },
  gates: [],
  compactions: 0,
  refused_tools: {},
  cost_usd: 0,
  context: { system: 0, largest_prompt: 0, prompt: 0, file_reads: 0, tool_output: 0, words: 0, layers: undefined },
  startedAt: undefined,
  endedAt: undefined,
});

/** Folds one event; the first makes the history, every further one changes it in place. */
export function foldHistory(history: History | undefined, event: RunEvent): History {
  if (event.type === "run-started") return begin(event);
  if (history === undefined) throw new Error(`a journal begins with run-started, not with ${event.type}`);
  history.seq = event.seq;
  if (event.at > history.now) history.now = event.at;
  ofRun(history, event);
  if ("phase" in event && event.phase !== undefined) ofPhase(history, phaseIn(history, event.phase), event);
  return history;
}

function phaseIn({ phases }: History, id: string): PhaseHistory {
  phases[id] ??= noHistory();
  return phases[id];
}

function ofRun(history: History, event: RunEvent): void {
  switch (event.type) {
    case "run-resumed":
      return act(history, event, "↻", "run taken up again");
    case "workers-seen":
      if (event.lost.length > 0) notice(history, event, "warning", workersText(event));
      return;
    case "phase-taken":
      if (event.from !== undefined) act(history, event, "↻", takenText(event));
      return;
    case "run-held":
      return act(history, event, "‖", `paused (${event.by})`);
    case "run-released":
      return act(history, event, "▶", `going on (${event.by})`);
    case "stop-requested":
      return act(history, event, "■", `stopping (${event.by})`);
    case "limit-reached":
      return mark(history, event, "limit", event.message);
    case "agent-away":
      notice(
        history,
        event,
        "warning",
        `${event.agent} ${event.why === "down" ? "is down" : "is refused"}: ${event.message}`,
      );
      return mark(history, event, "limit", `${event.agent}: ${event.message}`);
    case "phase-split": {
      const parts = event.parts.map(({ id }) => id).join(", ");
      return mark(history, event, "split", `split into ${parts}: ${event.reason}`);
    }
    case "warned":
      return notice(history, event, "warning", event.message);
    case "gates-baselined":
      for (const { name, passed } of event.results)
        if (!passed) notice(history, event, "warning", `gate ${name} fails already, before the first phase`);
      return;
    case "forecast-made":
      for (const warning of event.warnings) notice(history, event, "forecast", warning);
      return;
    case "question-asked":
      return mark(history, event, "question", event.text);
    case "question-answered":
      return act(history, event, "?", `answered: ${event.choice} (${event.by})`);
    default:
      return;
  }
}

function ofPhase(history: History, phase: PhaseHistory, event: RunEvent): void {
  switch (event.type) {
    case "phase-started":
      phase.startedAt ??= event.at;
      phase.endedAt = undefined;
      return;
    case "phase-serialised":
      return act(history, event, "‖", `waits for phase ${event.behind}`);
    case "session-started":
      phase.sessions++;
      if (event.agent !== undefined && !phase.agents.includes(event.agent)) phase.agents.push(event.agent);
      phase.context.layers = event.layers ?? phase.context.layers;
      phase.context.prompt += event.promptTokens;
      phase.context.largest_prompt = Math.max(phase.context.largest_prompt, event.promptTokens);
      history.sessions.push(newSession(event));
      return;
    case "session-measured": {
      const { context } = phase;
      const { reads, outputs, prompts, words } = event.sources;
      context.system += Math.max(0, event.firstPrompt - prompts);
      context.file_reads += reads;
      context.tool_output += outputs;
      context.words += words;
      return;
    }
    case "session-ended": {
      if (event.reason === "handed-over" || event.reason === "context-full") phase.restarts++;
      const session = sessionOf(history, event.session);
      if (session === undefined) return;
      session.endedAt = event.at;
      session.reason = event.reason;
      if (event.reason === "handed-over")
        mark(history, event, "handover", `handed over at ${percentOf(session)} %`, session.tokens);
      return;
    }
    case "gate-finished":
      phase.gates = [
        ...phase.gates.filter((gate) => gate.name !== event.name),
        { name: event.name, passed: event.passed, why: event.why, tail: event.tail },
      ];
      if (!event.passed) mark(history, event, "gate", `${event.name}: ${event.why}`);
      return act(history, event, event.passed ? "✓" : "✗", `gate ${event.name}: ${event.why}`, event.passed);
    case "commit-made":
      return act(history, event, "●", `commit ${event.sha.slice(0, 9)} (${event.files} files)`);
    case "phase-set-aside":
      return event.ref === undefined ? undefined : act(history, event, "⇢", `what it left is set aside: ${event.ref}`);
    case "commit-refused":
      return notice(history, event, "refused-commit", `the commit was refused: ${event.why}`);
    case "phase-inspected":
      for (const { text } of event.suspicions) notice(history, event, "suspicion", `suspicious: ${text}`);
      return;
    case "stuck-noticed":
      return notice(history, event, "circle", `going round in circles (${event.count}): ${event.evidence}`);
    case "merge-begun": {
      const { conflicts } = event;
      const text = conflicts.length === 0 ? "merged with what came meanwhile" : `conflicts in ${conflicts.join(", ")}`;
      return mark(history, event, "merge", text);
    }
    case "phase-merged":
      return act(history, event, "⇄", `merged into ${event.into}`);
    case "phase-done":
      phase.endedAt = event.at;
      return mark(history, event, "done", "phase done");
    case "phase-skipped":
      phase.endedAt = event.at;
      return;
    case "phase-failed":
      phase.endedAt = event.at;
      return mark(history, event, "failed", `${event.category}: ${event.message}`);
    default:
      return inSession(history, phase, event);
  }
}

/** What happens while an agent works. */
function inSession(history: History, phase: PhaseHistory, event: RunEvent): void {
  switch (event.type) {
    case "session-ready": {
      const session = sessionOf(history, event.session);
      if (session === undefined) return;
      session.model = event.model;
      if (event.window !== undefined)
        windowOf(history.rules, session, { window: event.window, compactAt: event.compactAt });
      return;
    }
    case "window-known": {
      const session = sessionOf(history, event.session);
      if (session !== undefined) windowOf(history.rules, session, event);
      return;
    }
    case "call-made": {
      const { cost } = event;
      phase.tokens = addTotal(phase.tokens, event.usage);
      phase.cost_usd = addCost(phase.cost_usd, cost);
      history.spent = {
        ...addTotal(history.spent, event.usage),
        calls: history.spent.calls + 1,
        cost_usd: addCost(history.spent.cost_usd, cost),
      };
      if (event.subagent) return;
      phase.peak_percent = Math.max(phase.peak_percent, event.reading.percent);
      const session = sessionOf(history, event.session);
      if (session === undefined) return;
      session.calls++;
      return addReading(session, history.startedAt, event.at, event.reading.tokens);
    }
    case "boundary-decided": {
      phase.peak_percent = Math.max(phase.peak_percent, event.reading.percent);
      const session = sessionOf(history, event.session);
      if (session !== undefined) addReading(session, history.startedAt, event.at, event.reading.tokens);
      return;
    }
    case "progress-reported":
      return act(history, event, "✓", event.message);
    case "decision-recorded":
      return act(history, event, "◆", event.text);
    case "tool-finished":
      // What is reported through Segno's own tools has its line already.
      if (event.kind === "segno" && event.ok) return;
      return act(history, event, event.ok ? "·" : "✗", `${event.tool} ${event.brief}`, event.ok);
    case "tool-refused":
      phase.refused_tools[event.tool] = (phase.refused_tools[event.tool] ?? 0) + 1;
      return;
    case "context-warned":
      return notice(history, event, "context", `the context is at ${event.reading.percent} %, above ${event.level} %`);
    case "compacted":
      phase.compactions++;
      return mark(
        history,
        event,
        "compaction",
        `the agent compacted its context at ${event.before} tokens`,
        event.before,
      );
    case "checkpoint-saved":
      return act(history, event, "⇥", `checkpoint of ${event.tokens} tokens`);
    default:
      return;
  }
}

/** The newest ones are asked for most. */
const sessionOf = ({ sessions }: History, id: string): BoardSession | undefined =>
  sessions.findLast((session) => session.id === id);

function act(history: History, event: RunEvent, symbol: string, text: string, ok = true): void {
  const phase = "phase" in event ? event.phase : undefined;
  history.activities.push({ at: event.at, phase, symbol, text: text.slice(0, 300), ok });
  if (history.activities.length > MOST_ACTIVITIES) history.activities.shift();
}

function mark(history: History, event: RunEvent, kind: MarkKind, text: string, tokens?: number): void {
  const phase = "phase" in event ? event.phase : undefined;
  history.marks.push({ at: event.at, kind, phase, tokens, text: text.slice(0, 500) });
  if (history.marks.length > MOST_MARKS) history.marks.shift();
}

function notice(history: History, event: RunEvent, kind: NoticeKind, text: string): void {
  const phase = "phase" in event ? event.phase : undefined;
  // The same thing said twice is one thing.
  if (history.notices.some((known) => known.text === text && known.phase === phase)) return;
  history.notices.push({ at: event.at, phase, kind, text: text.slice(0, 500) });
  if (history.notices.length > MOST_NOTICES) history.notices.shift();
}

/** The figures of a phase and of one of its sub-phases together; whose gates and times they are stays as it is. */
export const addFigures = (phase: PhaseHistory, part: PhaseHistory): PhaseHistory => ({
  ...phase,
  sessions: phase.sessions + part.sessions,
  agents: [...new Set([...phase.agents, ...part.agents])],
  restarts: phase.restarts + part.restarts,
  peak_percent: Math.max(phase.peak_percent, part.peak_percent),
  tokens: { ...addUsage(phase.tokens, part.tokens), total: phase.tokens.total + part.tokens.total },
  compactions: phase.compactions + part.compactions,
  cost_usd: addCost(phase.cost_usd, part.cost_usd),
});

/** Undefined as soon as one call has no known price. */
const addCost = (sum: number | undefined, cost: number | undefined): number | undefined =>
  sum === undefined || cost === undefined ? undefined : sum + cost;

const addTotal = (sum: Usage & { total: number }, usage: Usage): Usage & { total: number } => ({
  ...addUsage(sum, usage),
  total: sum.total + tokensIn(usage),
});
