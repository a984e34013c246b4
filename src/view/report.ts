/** A run's events folded into the figures that screens, reports and `--json` show. */
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
}

export interface RunFigures {
  run: string;
  plan: string;
  title: string;
  status: "running" | "paused" | "completed" | "failed" | "stopped";
  phases: PhaseFigures[];
  warnings: string[];
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
      case "warned":
        this.#figures?.warnings.push(event.message);
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
        return;
      case "session-ended":
        if (event.reason === "handed-over" || event.reason === "context-full") phase.restarts++;
        return;
      case "call-made":
        phase.tokens = addCall(phase.tokens, event.usage);
        if (!event.subagent) phase.peak_percent = Math.max(phase.peak_percent, event.reading.percent);
        return;
      case "boundary-decided":
        phase.peak_percent = Math.max(phase.peak_percent, event.reading.percent);
        return;
      case "progress-reported":
        if (event.task !== undefined) phase.tasksDone.add(event.task);
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

  #start(event: Extract<RunEvent, { type: "run-started" }>): void {
    const { run, plan } = event;
    const leftOut = new Set(event.leftOut);
    this.#figures = { run, plan: plan.file, title: plan.title, status: "running", phases: [], warnings: [] };
    const taken = new Set(event.takenAsDone);
    for (const phase of plan.phases) {
      this.#add(phase, taken.has(phase.id) ? "done" : leftOut.has(phase.id) ? "skipped" : "pending");
    }
  }

  #add({ id, title, tasks }: Plan["phases"][number], status: PhaseFigures["status"]): void {
    this.#phases.set(id, {
      id,
      title,
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
      tasksDone: new Set(tasks.filter((task) => task.ticked).map((task) => task.id)),
    });
  }
}

const addCall = (sum: PhaseFigures["tokens"], usage: Usage): PhaseFigures["tokens"] => ({
  input: sum.input + usage.input,
  cacheRead: sum.cacheRead + usage.cacheRead,
  cacheWrite: sum.cacheWrite + usage.cacheWrite,
  output: sum.output + usage.output,
  total: sum.total + usage.input + usage.cacheRead + usage.cacheWrite + usage.output,
});
