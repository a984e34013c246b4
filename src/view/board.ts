/**
 * A run as every screen shows it: plain data, folded from its events. The terminal, the web page, the report and
 * `--json` all read this; a page that opens late gets it as it is, and goes on folding the events that follow.
 */
import { promptBudget } from "../context/budget.js";
import { allotBudget, type LayerSizes } from "../context/layers.js";
import { handoversOn, thresholdTokens } from "../context/policy.js";
import { costOf } from "../context/prices.js";
import type { Phase } from "../plan/model.js";
import type { FactOf, RunEvent, Usage } from "../run/event.js";

export type PhaseStatus = "pending" | "running" | "done" | "failed" | "skipped";

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

export interface PhaseFigures {
  id: string;
  title: string;
  status: PhaseStatus;
  /** Whether gates passed: a phase without gates is done but unverified. */
  verified: boolean;
  sessions: number;
  restarts: number;
  peak_percent: number;
  tokens: Usage & { total: number };
  commits: string[];
  tasks: { done: number; total: number };
  gates: { name: string; passed: boolean; why: string }[];
  compactions: number;
  failure: { category: string; message: string; recommendation: string } | undefined;
  cost_usd: number | undefined;
  context: ContextFigures;
  forecast: { sessions: number; tokens: number } | undefined;
  /** The phase it is a sub-phase of, and the sub-phases it was split into. */
  part_of: string | undefined;
  parts: string[];
}

export interface BoardPhase extends PhaseFigures {
  dependsOn: string[];
  /** Where its text is. */
  file: string;
  tasksDone: string[];
  startedAt: string | undefined;
  endedAt: string | undefined;
  /** What it does now, in a word or two. */
  doing: string;
  /** The session that has the floor. */
  live: string | undefined;
}

export interface BoardSession {
  id: string;
  phase: string;
  purpose: string;
  model: string | undefined;
  startedAt: string;
  endedAt: string | undefined;
  reason: string | undefined;
  window: number;
  /** In tokens: where it is handed over, and from where at a natural boundary; 0 where it is not. */
  hard: number;
  soft: number;
  tokens: number;
  peak: number;
  calls: number;
  /** Readings: seconds since the run began and tokens, one after the other. */
  points: number[];
  /** Every how many readings one is kept. */
  step: number;
  seen: number;
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

export interface OpenQuestion {
  id: string;
  phase: string;
  text: string;
  choices: { key: string; name: string; meaning: string }[];
  until: string;
}

export interface Board {
  seq: number;
  run: string;
  mode: "run" | "rehearsal";
  plan: string;
  title: string;
  goal: string;
  branch: string;
  status: "running" | "paused" | "completed" | "failed" | "stopped";
  stopping: boolean;
  startedAt: string;
  /** The newest event's time. */
  now: string;
  budget: { cost_usd: number; tokens: number; hours: number };
  spent: Usage & { total: number; calls: number; cost_usd: number | undefined };
  phases: BoardPhase[];
  sessions: BoardSession[];
  activities: Activity[];
  marks: Mark[];
  warnings: string[];
  questions: OpenQuestion[];
  limit: { until: string; message: string } | undefined;
  prompt_budget: number;
  /** What each phase may use of it, and what is held back. */
  allotment: { phases: Record<string, number>; debugging: number; overflow: number };
  /** What is needed to fold on. */
  rules: { hard: Parameters<typeof thresholdTokens>[0]; soft: number | undefined };
}

const MOST_ACTIVITIES = 80;
const MOST_MARKS = 600;
const MOST_POINTS = 300;

const NONE: Usage & { total: number } = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, total: 0 };

function begin(event: FactOf<"run-started"> & RunEvent): Board {
  const { plan, config } = event;
  const taken = new Set(event.takenAsDone);
  const leftOut = new Set(event.leftOut);
  const budget = promptBudget(config.prompt_budget, config.context_limit);
  const { phases, debugging, overflow } = allotBudget(config.budget_strategy, plan.phases, budget);
  const hands = handoversOn(config);
  return {
    seq: event.seq,
    run: event.run,
    mode: event.mode,
    plan: plan.file,
    title: plan.title,
    goal: plan.goal,
    branch: event.branch,
    status: "running",
    stopping: false,
    startedAt: event.at,
    now: event.at,
    budget: { cost_usd: config.max_cost_usd, tokens: config.max_tokens, hours: config.max_hours },
    spent: { ...NONE, calls: 0, cost_usd: 0 },
    phases: plan.phases.map((phase) =>
      phaseOf(phase, taken.has(phase.id) ? "done" : leftOut.has(phase.id) ? "skipped" : "pending"),
    ),
    sessions: [],
    activities: [],
    marks: [],
    warnings: [],
    questions: [],
    limit: undefined,
    prompt_budget: budget,
    allotment: { phases: Object.fromEntries(phases), debugging, overflow },
    rules: {
      hard: { context_threshold: hands ? config.context_threshold : 100 },
      soft: hands && typeof config.context_soft === "number" ? config.context_soft : undefined,
    },
  };
}

const phaseOf = ({ id, title, tasks, dependsOn, file }: Phase, status: PhaseStatus, part_of?: string): BoardPhase => ({
  id,
  title,
  status,
  verified: false,
  sessions: 0,
  restarts: 0,
  peak_percent: 0,
  tokens: { ...NONE },
  commits: [],
  tasks: { done: tasks.filter((task) => task.ticked).length, total: tasks.length },
  gates: [],
  compactions: 0,
  failure: undefined,
  cost_usd: 0,
  context: { system: 0, largest_prompt: 0, prompt: 0, file_reads: 0, tool_output: 0, words: 0, layers: undefined },
  forecast: undefined,
  part_of,
  parts: [],
  dependsOn: [...dependsOn],
  file,
  tasksDone: tasks.filter((task) => task.ticked).map((task) => task.id),
  startedAt: undefined,
  endedAt: undefined,
  doing: "",
  live: undefined,
});

/** Folds one event; the first makes the board, every further one changes it in place. */
export function foldBoard(board: Board | undefined, event: RunEvent): Board {
  if (event.type === "run-started") return begin(event);
  if (board === undefined) throw new Error(`a journal begins with run-started, not with ${event.type}`);
  board.seq = event.seq;
  if (event.at > board.now) board.now = event.at;
  ofRun(board, event);
  if ("phase" in event && event.phase !== undefined) {
    const phase = board.phases.find(({ id }) => id === event.phase);
    if (phase !== undefined) ofPhase(board, phase, event);
  }
  return board;
}

function ofRun(board: Board, event: RunEvent): void {
  switch (event.type) {
    case "run-resumed":
      board.questions = [];
      board.status = "running";
      board.stopping = false;
      return act(board, event, "↻", "run taken up again");
    case "run-held":
      board.status = "paused";
      return act(board, event, "‖", `paused (${event.by})`);
    case "run-released":
      board.status = "running";
      return act(board, event, "▶", `going on (${event.by})`);
    case "stop-requested":
      board.stopping = true;
      return act(board, event, "■", `stopping (${event.by})`);
    case "run-completed":
    case "run-failed":
    case "run-stopped":
      board.status = event.type.slice(4) as Board["status"];
      board.questions = [];
      return;
    case "limit-reached":
      board.limit = { until: event.until, message: event.message };
      return mark(board, event, "limit", event.message);
    case "limit-lifted":
      board.limit = undefined;
      return;
    case "plan-changed":
      board.phases = event.plan.phases.map((phase) => {
        const known = board.phases.find(({ id }) => id === phase.id);
        if (known === undefined) return phaseOf(phase, "pending");
        known.title = phase.title;
        known.tasks.total = phase.tasks.length;
        known.dependsOn = [...phase.dependsOn];
        return known;
      });
      return;
    case "phase-split": {
      const at = board.phases.findIndex(({ id }) => id === event.phase);
      const parts = event.parts.map((part) => phaseOf(part, "pending", event.phase));
      board.phases.splice(at + 1, 0, ...parts);
      board.phases[at]?.parts.push(...parts.map(({ id }) => id));
      return mark(board, event, "split", `split into ${parts.map(({ id }) => id).join(", ")}: ${event.reason}`);
    }
    case "warned":
      board.warnings.push(event.message);
      return;
    case "forecast-made":
      for (const { phase: id, sessions, tokens } of event.phases) {
        const known = board.phases.find((phase) => phase.id === id);
        if (known !== undefined) known.forecast = { sessions, tokens };
      }
      return;
    case "question-asked": {
      const until = new Date(Date.parse(event.at) + event.minutes * 60_000).toISOString();
      const { question: id, phase, text, choices } = event;
      board.questions.push({ id, phase, text, choices: [...choices], until });
      return mark(board, event, "question", text);
    }
    case "question-answered":
      board.questions = board.questions.filter(({ id }) => id !== event.question);
      return act(board, event, "?", `answered: ${event.choice} (${event.by})`);
    default:
      return;
  }
}

const DOING: Record<string, string> = {
  work: "working",
  remediate: "repairing",
  verify: "reviewing",
  merge: "merging",
};

function ofPhase(board: Board, phase: BoardPhase, event: RunEvent): void {
  switch (event.type) {
    case "phase-started":
      phase.status = "running";
      phase.failure = undefined;
      phase.startedAt ??= event.at;
      phase.endedAt = undefined;
      phase.doing = "starting";
      return;
    case "phase-serialised":
      return act(board, event, "‖", `waits for phase ${event.behind}`);
    case "session-started":
      phase.sessions++;
      phase.live = event.session;
      phase.doing = DOING[event.purpose] ?? event.purpose;
      phase.context.layers = event.layers ?? phase.context.layers;
      phase.context.prompt += event.promptTokens;
      phase.context.largest_prompt = Math.max(phase.context.largest_prompt, event.promptTokens);
      board.sessions.push(newSession(event));
      return;
    case "turn-started":
      if (event.turn === "checkpoint") phase.doing = "handing over";
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
      board.questions = board.questions.filter(({ id }) => !id.startsWith(`${event.session}/`));
      if (phase.live === event.session) phase.live = undefined;
      const session = sessionOf(board, event.session);
      if (session === undefined) return;
      session.endedAt = event.at;
      session.reason = event.reason;
      if (event.reason === "handed-over")
        mark(board, event, "handover", `handed over at ${percentOf(session)} %`, session.tokens);
      return;
    }
    case "gate-finished":
      phase.gates = [
        ...phase.gates.filter((gate) => gate.name !== event.name),
        { name: event.name, passed: event.passed, why: event.why },
      ];
      phase.doing = "verifying";
      if (!event.passed) mark(board, event, "gate", `${event.name}: ${event.why}`);
      return act(board, event, event.passed ? "✓" : "✗", `gate ${event.name}: ${event.why}`, event.passed);
    case "commit-made":
      phase.commits.push(event.sha);
      return act(board, event, "●", `commit ${event.sha.slice(0, 9)} (${event.files} files)`);
    case "merge-begun":
      phase.doing = "merging";
      return mark(
        board,
        event,
        "merge",
        event.conflicts.length === 0 ? "merged with what came meanwhile" : `conflicts in ${event.conflicts.join(", ")}`,
      );
    case "phase-merged":
      phase.commits.push(event.sha);
      return act(board, event, "⇄", `merged into ${event.into}`);
    case "phase-split":
      phase.doing = "split";
      return;
    case "phase-done":
      phase.status = "done";
      phase.verified = event.verified;
      ends(phase, event);
      return mark(board, event, "done", "phase done");
    case "skip-requested":
      if (phase.status === "pending" || phase.status === "failed") phase.status = "skipped";
      return;
    case "phase-skipped":
      phase.status = "skipped";
      return ends(phase, event);
    case "phase-failed":
      phase.status = "failed";
      phase.failure = { category: event.category, message: event.message, recommendation: event.recommendation };
      ends(phase, event);
      return mark(board, event, "failed", `${event.category}: ${event.message}`);
    default:
      return inSession(board, phase, event);
  }
}

/** What happens while an agent works. */
function inSession(board: Board, phase: BoardPhase, event: RunEvent): void {
  switch (event.type) {
    case "session-ready": {
      const session = sessionOf(board, event.session);
      if (session === undefined) return;
      const { model, window, compactAt } = event;
      session.model = model;
      session.window = window;
      session.hard = Math.round(thresholdTokens(board.rules.hard, { window, compactAt, reserve: 0 }));
      session.soft = board.rules.soft === undefined ? 0 : Math.round((window * board.rules.soft) / 100);
      return;
    }
    case "call-made": {
      const cost = costOf(event.model, event.usage);
      phase.tokens = addUsage(phase.tokens, event.usage);
      phase.cost_usd = addCost(phase.cost_usd, cost);
      board.spent = {
        ...addUsage(board.spent, event.usage),
        calls: board.spent.calls + 1,
        cost_usd: addCost(board.spent.cost_usd, cost),
      };
      if (event.subagent) return;
      phase.peak_percent = Math.max(phase.peak_percent, event.reading.percent);
      const session = sessionOf(board, event.session);
      if (session === undefined) return;
      session.calls++;
      return read(board, session, event.at, event.reading.tokens);
    }
    case "boundary-decided": {
      phase.peak_percent = Math.max(phase.peak_percent, event.reading.percent);
      const session = sessionOf(board, event.session);
      if (session !== undefined) read(board, session, event.at, event.reading.tokens);
      return;
    }
    case "progress-reported":
      if (event.task !== undefined) taskDone(board, phase, event.task);
      return act(board, event, "✓", event.message);
    case "decision-recorded":
      return act(board, event, "◆", event.text);
    case "tool-finished":
      // What is reported through Segno's own tools has its line already.
      if (event.tool.startsWith("mcp__segno__") && event.ok) return;
      return act(
        board,
        event,
        event.ok ? "·" : "✗",
        `${event.tool.replace(/^mcp__segno__/, "")} ${event.brief}`,
        event.ok,
      );
    case "compacted":
      phase.compactions++;
      return mark(
        board,
        event,
        "compaction",
        `the agent compacted its context at ${event.before} tokens`,
        event.before,
      );
    case "checkpoint-saved":
      return act(board, event, "⇥", `checkpoint of ${event.tokens} tokens`);
    default:
      return;
  }
}

const ends = (phase: BoardPhase, { at }: RunEvent): void => {
  phase.endedAt = at;
  phase.doing = "";
  phase.live = undefined;
};

/** A sub-phase's task is its phase's, too. */
function taskDone(board: Board, phase: BoardPhase, task: string): void {
  for (let at: BoardPhase | undefined = phase; at !== undefined; ) {
    if (!at.tasksDone.includes(task)) at.tasksDone.push(task);
    at.tasks.done = at.tasksDone.length;
    const parent: string | undefined = at.part_of;
    at = parent === undefined ? undefined : board.phases.find(({ id }) => id === parent);
  }
}

const newSession = (event: FactOf<"session-started"> & RunEvent): BoardSession => ({
  id: event.session,
  phase: event.phase,
  purpose: event.purpose,
  model: undefined,
  startedAt: event.at,
  endedAt: undefined,
  reason: undefined,
  window: 0,
  hard: 0,
  soft: 0,
  tokens: 0,
  peak: 0,
  calls: 0,
  points: [],
  step: 1,
  seen: 0,
});

/** The newest ones are asked for most. */
const sessionOf = ({ sessions }: Board, id: string): BoardSession | undefined =>
  sessions.findLast((session) => session.id === id);

/** Keeps a bounded number of readings, evenly over the session, and always the newest. */
function read({ startedAt }: Board, session: BoardSession, at: string, tokens: number): void {
  session.tokens = tokens;
  session.peak = Math.max(session.peak, tokens);
  const seconds = Math.round((Date.parse(at) - Date.parse(startedAt)) / 100) / 10;
  const { points } = session;
  // The last point is provisional until the next one that is kept.
  if (session.seen % session.step !== 0) points.splice(-2);
  session.seen++;
  points.push(seconds, tokens);
  if (points.length <= MOST_POINTS * 2) return;
  session.step *= 2;
  session.points = points.filter((_, index) => (index >> 1) % 2 === 0 || index >= points.length - 2);
}

export const percentOf = ({ tokens, window }: Pick<BoardSession, "tokens" | "window">): number =>
  window === 0 ? 0 : Math.round((tokens / window) * 100);

function act(board: Board, event: RunEvent, symbol: string, text: string, ok = true): void {
  const phase = "phase" in event ? event.phase : undefined;
  board.activities.push({ at: event.at, phase, symbol, text: text.slice(0, 300), ok });
  if (board.activities.length > MOST_ACTIVITIES) board.activities.shift();
}

function mark(board: Board, event: RunEvent, kind: MarkKind, text: string, tokens?: number): void {
  const phase = "phase" in event ? event.phase : undefined;
  board.marks.push({ at: event.at, kind, phase, tokens, text: text.slice(0, 500) });
  if (board.marks.length > MOST_MARKS) board.marks.shift();
}

/** Undefined as soon as one call has no known price. */
const addCost = (sum: number | undefined, cost: number | undefined): number | undefined =>
  sum === undefined || cost === undefined ? undefined : sum + cost;

const addUsage = (sum: Usage & { total: number }, usage: Usage): Usage & { total: number } => ({
  input: sum.input + usage.input,
  cacheRead: sum.cacheRead + usage.cacheRead,
  cacheWrite: sum.cacheWrite + usage.cacheWrite,
  output: sum.output + usage.output,
  total: sum.total + usage.input + usage.cacheRead + usage.cacheWrite + usage.output,
});
