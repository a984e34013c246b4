/** A run's events folded into the figures that screens, reports and `--json` show. */
import { promptBudget } from "../context/budget.js";
import { allotBudget, type LayerSizes } from "../context/layers.js";
import { costOf } from "../context/prices.js";
import type { Plan } from "../plan/model.js";
import type { RunEvent, Usage } from "../run/event.js";

export interface PhaseFigures {
  id: string;
  title: string;
  status: "pending" | "running" | "done" | "failed" | "skipped";
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

export interface OpenQuestion {
  id: string;
  phase: string;
  text: string;
  choices: { key: string; name: string; meaning: string }[];
  until: string;
}

export interface RunFigures {
  run: string;
  plan: string;
  title: string;
  status: "running" | "paused" | "completed" | "failed" | "stopped";
  phases: PhaseFigures[];
  warnings: string[];
  questions: OpenQuestion[];
  prompt_budget: number;
  /** What each phase may use of it, and what is held back. */
  allotment: { phases: Record<string, number>; debugging: number; overflow: number };
}

export class RunReport {
  #figures: RunFigures | undefined;
  readonly #phases = new Map<string, PhaseFigures & { tasksDone: Set<string> }>();

  get figures(): RunFigures {
    if (this.#figures === undefined) throw new Error("the journal has no run-started yet");
    const phases = [...this.#phases.values()].map(({ tasksDone, ...phase }) => ({
      ...phase,
      tasks: { ...phase.tasks, done: tasksDone.size },
    }));
    return { ...this.#figures, phases };
  }

  take(event: RunEvent): void {
    switch (event.type) {
      case "run-started":
        this.#start(event);
        return;
      case "run-resumed":
        this.#closeQuestions(() => true);
        if (this.#figures !== undefined) this.#figures.status = "running";
        return;
      case "run-released":
        if (this.#figures !== undefined) this.#figures.status = "running";
        return;
      case "run-held":
        if (this.#figures !== undefined) this.#figures.status = "paused";
        return;
      case "run-completed":
      case "run-failed":
      case "run-stopped":
        if (this.#figures !== undefined) this.#figures.status = event.type.slice(4) as RunFigures["status"];
        return;
      case "plan-changed":
        for (const id of event.removed) this.#phases.delete(id);
        for (const phase of event.plan.phases) {
          const known = this.#phases.get(phase.id);
          if (known === undefined) this.#add(phase, "pending");
          else known.tasks.total = phase.tasks.length;
        }
        return;
      case "phase-split":
        this.#split(event);
        return;
      case "warned":
        this.#figures?.warnings.push(event.message);
        return;
      case "forecast-made":
        for (const { phase: id, sessions, tokens } of event.phases) {
          const known = this.#phases.get(id);
          if (known !== undefined) known.forecast = { sessions, tokens };
        }
        return;
      case "question-asked": {
        const until = new Date(Date.parse(event.at) + event.minutes * 60_000).toISOString();
        const { question: id, phase, text, choices } = event;
        this.#figures?.questions.push({ id, phase, text, choices: [...choices], until });
        return;
      }
      case "question-answered":
        this.#closeQuestions(({ id }) => id === event.question);
        return;
      default:
        break;
    }
    if (!("phase" in event) || event.phase === undefined) return;
    const phase = this.#phases.get(event.phase);
    if (phase === undefined) return;
    switch (event.type) {
      case "phase-started":
        phase.status = "running";
        phase.failure = undefined;
        return;
      case "session-started":
        phase.sessions++;
        phase.context.layers = event.layers ?? phase.context.layers;
        phase.context.prompt += event.promptTokens;
        phase.context.largest_prompt = Math.max(phase.context.largest_prompt, event.promptTokens);
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
      case "session-ended":
        if (event.reason === "handed-over" || event.reason === "context-full") phase.restarts++;
        this.#closeQuestions(({ id }) => id.startsWith(`${event.session}/`));
        return;
      case "call-made":
        phase.tokens = addCall(phase.tokens, event.usage);
        phase.cost_usd = addCost(phase.cost_usd, costOf(event.model, event.usage));
        if (!event.subagent) phase.peak_percent = Math.max(phase.peak_percent, event.reading.percent);
        return;
      case "boundary-decided":
        phase.peak_percent = Math.max(phase.peak_percent, event.reading.percent);
        return;
      case "progress-reported":
        if (event.task !== undefined) {
          for (let at: typeof phase | undefined = phase; at !== undefined; at = this.#phases.get(at.part_of ?? ""))
            at.tasksDone.add(event.task);
        }
        return;
      case "compacted":
        phase.compactions++;
        return;
      case "gate-finished":
        phase.gates = [
          ...phase.gates.filter((gate) => gate.name !== event.name),
          { name: event.name, passed: event.passed, why: event.why },
        ];
        return;
      case "commit-made":
      case "phase-merged":
        phase.commits.push(event.sha);
        return;
      case "phase-done":
        phase.status = "done";
        phase.verified = event.verified;
        return;
      case "skip-requested":
        if (phase.status === "pending" || phase.status === "failed") phase.status = "skipped";
        return;
      case "phase-skipped":
        phase.status = "skipped";
        return;
      case "phase-failed":
        phase.status = "failed";
        phase.failure = { category: event.category, message: event.message, recommendation: event.recommendation };
        return;
      default:
        return;
    }
  }

  #closeQuestions(closed: (question: OpenQuestion) => boolean): void {
    if (this.#figures !== undefined)
      this.#figures.questions = this.#figures.questions.filter((question) => !closed(question));
  }

  #start(event: Extract<RunEvent, { type: "run-started" }>): void {
    const { run, plan } = event;
    const leftOut = new Set(event.leftOut);
    const budget = promptBudget(event.config.prompt_budget, event.config.context_limit);
    const { phases, debugging, overflow } = allotBudget(event.config.budget_strategy, plan.phases, budget);
    this.#figures = {
      run,
      plan: plan.file,
      title: plan.title,
      status: "running",
      phases: [],
      warnings: [],
      questions: [],
      prompt_budget: budget,
      allotment: { phases: Object.fromEntries(phases), debugging, overflow },
    };
    const taken = new Set(event.takenAsDone);
    for (const phase of plan.phases) {
      this.#add(phase, taken.has(phase.id) ? "done" : leftOut.has(phase.id) ? "skipped" : "pending");
    }
  }

  /** Sub-phases stand behind their phase. */
  #split({ phase, parts }: Extract<RunEvent, { type: "phase-split" }>): void {
    const before = [...this.#phases];
    const at = before.findIndex(([id]) => id === phase) + 1;
    const parent = this.#phases.get(phase);
    if (parent !== undefined) parent.parts = [...parent.parts, ...parts.map(({ id }) => id)];
    this.#phases.clear();
    for (const [id, figures] of before.slice(0, at)) this.#phases.set(id, figures);
    for (const part of parts) this.#add(part, "pending", phase);
    for (const [id, figures] of before.slice(at)) this.#phases.set(id, figures);
  }

  #add({ id, title, tasks }: Plan["phases"][number], status: PhaseFigures["status"], part_of?: string): void {
    this.#phases.set(id, {
      id,
      title,
      part_of,
      parts: [],
      status,
      verified: false,
      sessions: 0,
      restarts: 0,
      peak_percent: 0,
      tokens: { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, total: 0 },
      commits: [],
      tasks: { done: 0, total: tasks.length },
      gates: [],
      compactions: 0,
      failure: undefined,
      cost_usd: 0,
      context: { system: 0, largest_prompt: 0, prompt: 0, file_reads: 0, tool_output: 0, words: 0, layers: undefined },
      forecast: undefined,
      tasksDone: new Set(tasks.filter((task) => task.ticked).map((task) => task.id)),
    });
  }
}

/** Undefined as soon as one call has no known price. */
const addCost = (sum: number | undefined, cost: number | undefined): number | undefined =>
  sum === undefined || cost === undefined ? undefined : sum + cost;

const addCall = (sum: PhaseFigures["tokens"], usage: Usage): PhaseFigures["tokens"] => ({
  input: sum.input + usage.input,
  cacheRead: sum.cacheRead + usage.cacheRead,
  cacheWrite: sum.cacheWrite + usage.cacheWrite,
  output: sum.output + usage.output,
  total: sum.total + usage.input + usage.cacheRead + usage.cacheWrite + usage.output,
});
