/**
 * A session in this process: the agent's conversation, its meter, and what the agent reported through the tools.
 *
 * Invariants
 * 1. The meter sees an observation before anything else does.
 * 2. What the agent reports is in the journal before the agent gets its answer.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { AgentSession, Observation, SessionHandlers } from "../agents/agent.js";
import { type Economy, handoverCost } from "../context/economy.js";
import { seenFirstPrompt } from "../context/forecast.js";
import { expectedGrowth, largeResult, type Meter, meter, newMeter, readMeter } from "../context/meter.js";
import {
  type BoundaryDecision,
  decideBoundary,
  handoversOn,
  type Limits,
  type NaturalBoundary,
  newWarnings,
  thresholdTokens,
} from "../context/policy.js";
import { kindOfTool } from "../context/ratios.js";
import type { Claims } from "../handover/claims.js";
import { judgeVerdicts } from "../handover/review.js";
import { type StuckEvidence, StuckWatch } from "../handover/stuck.js";
import { budgetReached, budgetWarnings } from "../run/budget.js";
import type { Purpose } from "../run/command.js";
import type { StopWhy, TurnEnd } from "../run/event.js";
import type { PhaseResult } from "../run/outcome.js";
import { requestProblem } from "../run/splitting.js";
import { isAttempt, phaseOf, type SessionState } from "../run/state.js";
import { readLearned } from "../store/learned.js";
import { TOOL_PREFIX } from "../tools/mcp.js";
import { type SegnoTools, segnoTools, type ToolHandlers, ToolRefusal } from "../tools/tools.js";
import { groundOf } from "./ground.js";
import { Watchdog } from "./watchdog.js";
import { markerOf, type WarmSession, type World } from "./world.js";

const MOST_REFUSED_BATCHES = 3;
const MOST_SAID = 40_000;
/** Calls a task needs where none was finished yet. */
const USUAL_CALLS_PER_TASK = 10;
const STOP_WHY: Record<Extract<BoundaryDecision, { go: false }>["act"], StopWhy> = {
  "hand-over": "context",
  ask: "asked",
  stop: "stop-requested",
  fail: "window-too-small",
};

/** What a session that only judges may not use. */
const EDITING = ["Edit", "Write", "MultiEdit", "NotebookEdit"];

export interface Place {
  phase: string;
  purpose: Purpose;
  attempt: number;
  session: string;
}

export class LiveSession implements WarmSession {
  readonly #world: World;
  readonly #place: Place;
  readonly #at: Omit<Place, "purpose">;
  readonly tools: SegnoTools;
  #agent: AgentSession | undefined;
  #meter: Meter;
  #compactAt: number | undefined;
  #toolCalls = 0;
  /** What made the boundary that comes next a natural one. */
  #natural: NaturalBoundary | undefined;
  readonly #warned = new Set<number>();
  /** File reads before anything was written. */
  #reread: number | undefined;
  readonly #watchdog: Watchdog;
  readonly #watch: StuckWatch;
  #circles: StuckEvidence | undefined;
  /** All the agent said in the turn that is on, or was. */
  said = "";
  claims: Claims | undefined;
  #refusedBatches = 0;
  #resumed = false;
  #pid: number | undefined;

  constructor(world: World, place: Place) {
    this.#world = world;
    this.#place = place;
    this.#at = { phase: place.phase, attempt: place.attempt, session: place.session };
    const { config, top } = world.run.state;
    this.#watch = new StuckWatch(config);
    this.#watchdog = new Watchdog(config);
    this.#meter = newMeter(config.context_limit, seenFirstPrompt(readLearned(top, world.agent.name)));
    this.tools = segnoTools(this.#toolHandlers());
  }

  /** `resume`: the agent's own conversation to go on with. */
  async open(resume: string | undefined): Promise<AgentSession> {
    if (this.#agent !== undefined) return this.#agent;
    this.#resumed = resume !== undefined;
    const { run, agent, agentEnv, door, isolated, permissionMode } = this.#world;
    const { phase, session } = this.#place;
    const env = {
      ...agentEnv,
      SEGNO_RUN: run.state.run,
      SEGNO_PHASE: phase,
      ...(door === undefined ? {} : { SEGNO_DOOR: door.url, SEGNO_TOKEN: door.sessionToken(session) }),
    };
    const { config } = run.state;
    const { cwd } = groundOf(this.#world, phase);
    this.#agent = await agent.open({
      marker: markerOf(run.state.run, this.#place.session),
      cwd,
      env,
      model: config.model,
      permissionMode,
      isolated,
      sandbox: config.sandbox,
      allowedTools: config.allowed_tools,
      deniedTools: this.#place.purpose === "verify" ? [...config.denied_tools, ...EDITING] : config.denied_tools,
      resume,
      tools: this.tools,
      handlers: this.#handlers(),
    });
    return this.#agent;
  }

  /** Ends the agent and everything it started; the number of processes that had to be ended. */
  async close(): Promise<number> {
    const swept = await this.agent.close();
    if (this.#pid !== undefined) this.#world.warden?.unwatch(this.#pid);
    return swept;
  }

  /** One turn; what was said in the last one is forgotten. */
  send(prompt: string, options?: { onlySegnoTools: boolean }): Promise<TurnEnd> {
    this.said = "";
    return this.#watchdog.over(this.agent.send(prompt, options));
  }

  get phase(): string {
    return this.#place.phase;
  }

  get agent(): AgentSession {
    if (this.#agent === undefined) throw new Error(`session ${this.#place.session} is not open`);
    return this.#agent;
  }

  #handlers(): SessionHandlers {
    return {
      spawned: (pid) => {
        this.#pid = pid;
        this.#world.warden?.watch(pid);
      },
      observe: (observation) => this.#observe(observation),
      boundary: async () => this.#boundary(),
      mayCompact: () => {
        if (!handoversOn(this.#world.run.state.config)) return true;
        this.#world.run.append({ type: "compaction-blocked", ...this.#at });
        return false;
      },
    };
  }

  #observe(observation: Observation): void {
    const { run } = this.#world;
    this.#watchdog.alive();
    switch (observation.type) {
      case "alive":
        return;
      case "tool-started":
        this.#watchdog.toolStarted(observation.id);
        return;
      case "meter":
        this.#meter = meter(this.#meter, observation.input);
        if (observation.input.type === "call-started" && observation.input.prompt === 0) this.#noUsage();
        return;
      case "ready": {
        const { agentSession, model, compactAt } = observation;
        const limit = run.state.config.context_limit;
        const window = Math.min(observation.window || this.#meter.window, limit ?? Number.POSITIVE_INFINITY);
        this.#meter = meter(this.#meter, { type: "window", window });
        this.#compactAt = compactAt;
        run.append({ type: "session-ready", ...this.#at, agentSession, model, window, compactAt });
        return;
      }
      case "call": {
        const { id, model, usage, subagent } = observation;
        const reading = readMeter(this.#meter);
        run.append({ type: "call-made", ...this.#at, call: id, model, usage, subagent, reading });
        if (!subagent) this.#warn();
        for (const message of budgetWarnings(run.state))
          if (!run.warnings.has(message)) run.append({ type: "warned", message });
        return;
      }
      case "tool": {
        this.#watchdog.toolFinished(observation.id);
        const { name, brief, ok, subagent, call, result, edit } = observation;
        run.append({ type: "tool-finished", ...this.#at, tool: name, brief, ok, subagent, call, result });
        if (subagent) return;
        this.#toolFinished(name, brief, ok);
        if (!name.startsWith(TOOL_PREFIX))
          this.#circles ??= this.#watch.take({ tool: name, brief, ok, call, result, edit });
        return;
      }
      case "compacted":
        run.append({ type: "compacted", ...this.#at, before: observation.before, after: observation.after });
        return;
      case "said":
        if (this.said.length < MOST_SAID) this.said += `${this.said === "" ? "" : "\n\n"}${observation.text}`;
        return;
      default:
        observation satisfies never;
    }
  }

  #boundary(): Awaited<ReturnType<SessionHandlers["boundary"]>> {
    const { run } = this.#world;
    const reached = budgetReached(run.state);
    if (reached !== undefined && !run.state.stopping)
      run.append({ type: "stop-requested", by: `the run's budget (${reached.name}: ${reached.words})` });
    const { config, stopping, hold } = run.state;
    const phase = run.state.phases.get(this.#place.phase);
    const session = run.state.sessions.get(this.#place.session);
    if (session?.result !== undefined || session?.verdicts !== undefined) return { stop: true, why: "reported" };
    if (session?.step === "checkpointing") {
      // An agent that goes on calling tools it was refused would burn its last tokens on it.
      const over = this.claims !== undefined || ++this.#refusedBatches >= MOST_REFUSED_BATCHES;
      return over ? { stop: true, why: "reported" } : { stop: false };
    }
    const natural = this.#natural;
    this.#natural = undefined;
    this.#warn();
    const reading = readMeter(this.#meter);
    const decision = decideBoundary(config, {
      reading,
      limits: this.#limits(),
      // A conversation that was taken up again begins as full as it was.
      firstPrompt: this.#resumed ? undefined : this.#meter.first,
      growth: expectedGrowth(this.#meter),
      natural,
      workLeft: this.#tasksLeft() > 0,
      toolCalls: this.#toolCalls,
      economy: this.#economy(reading.tokens, session),
      continued: run.state.toldOnContext === "continue",
    });
    const asked =
      phase !== undefined && isAttempt(phase) && phase.skipping ? "skipped" : stopping ? "stop-requested" : undefined;
    if (asked === undefined && this.#outOfTime()) {
      const threshold = Math.round(thresholdTokens(config, this.#limits()));
      const reason = `the phase took longer than ${config.phase_timeout_minutes} minutes`;
      run.append({ type: "boundary-decided", ...this.#at, why: "timeout", reason, reading, threshold });
      return { stop: true, why: "timeout" };
    }
    if (asked === undefined && this.#goesInCircles()) {
      const threshold = Math.round(thresholdTokens(config, this.#limits()));
      const reason = "it goes round in circles";
      run.append({ type: "boundary-decided", ...this.#at, why: "stuck", reason, reading, threshold });
      return { stop: true, why: "stuck" };
    }
    if (asked === undefined && !decision.go) return this.#stopFor(decision);
    const why = asked ?? (hold === undefined ? undefined : "paused");
    if (why === undefined) return { stop: false };
    const threshold = Math.round(thresholdTokens(config, this.#limits()));
    run.append({ type: "boundary-decided", ...this.#at, why, reason: "asked for", reading, threshold });
    return { stop: true, why };
  }

  #stopFor(decision: Extract<BoundaryDecision, { go: false }>): { stop: true; why: StopWhy } {
    const { run } = this.#world;
    const { act, rule, threshold, reason } = decision;
    // Under `ask`, "force" means: hand over without a question.
    const why = act === "ask" && run.state.toldOnContext === "force" ? "context" : STOP_WHY[act];
    const reading = readMeter(this.#meter);
    run.append({ type: "boundary-decided", ...this.#at, why, rule, reason, reading, threshold });
    if (act === "stop") run.append({ type: "stop-requested", by: "context_policy: stop" });
    return { stop: true, why };
  }

  /** Whether the attempt used up its time; what the machine slept does not count. */
  #outOfTime(): boolean {
    const { state } = this.#world.run;
    const phase = state.phases.get(this.#place.phase);
    if (phase === undefined || !isAttempt(phase)) return false;
    const awake = Date.parse(state.now) - Date.parse(phase.startedAt) - (state.asleep - phase.asleepBefore);
    return awake > state.config.phase_timeout_minutes * 60_000;
  }

  /** Says what was noticed since the last boundary; whether it is time to end the session for it. */
  #goesInCircles(): boolean {
    const { run } = this.#world;
    const evidence = this.#circles;
    this.#circles = undefined;
    const phase = run.state.phases.get(this.#place.phase);
    if (evidence === undefined || run.state.config.stuck_limit === 0 || phase === undefined || !isAttempt(phase))
      return false;
    const count = phase.stuck + 1;
    run.append({ type: "stuck-noticed", ...this.#at, kind: evidence.kind, evidence: evidence.text, count });
    return count > 1;
  }

  #limits(): Limits {
    return { window: this.#meter.window, compactAt: this.#compactAt, reserve: largeResult(this.#meter) };
  }

  /** What a handover would cost and save now, as far as this run knows. */
  #economy(tokens: number, session: SessionState | undefined): Economy {
    const { state } = this.#world.run;
    const mine = [...state.sessions.values()].filter(({ phase: id }) => id === this.#place.phase);
    const left = this.#tasksLeft();
    const tasksDone = phaseOf(state, this.#place.phase).tasks.length - left;
    const calls = mine.reduce((sum, each) => sum + each.calls, 0);
    const perTask = tasksDone === 0 ? USUAL_CALLS_PER_TASK : calls / tasksDone;
    const handedOver = [...state.sessions.values()].filter(({ checkpointWeight }) => checkpointWeight > 0);
    // The very first session pays for what all later ones find cached.
    const starts = [...state.sessions.values()].slice(1).filter(({ startWeight }) => startWeight > 0);
    return {
      calls: session?.calls ?? 0,
      carried: session?.carried ?? 0,
      callsLeft: Math.max(0, left) * perTask,
      handover: handoverCost(tokens, {
        checkpoints: handedOver.map(({ checkpointWeight }) => checkpointWeight),
        starts: starts.map(({ startWeight }) => startWeight),
        firstPrompt: this.#meter.first ?? 0,
        promptTokens: session?.promptTokens ?? 0,
        rereading: mine.flatMap(({ reread }) => (reread === undefined ? [] : [reread])),
      }),
    };
  }

  #tasksLeft(): number {
    const { state } = this.#world.run;
    const phase = state.phases.get(this.#place.phase);
    const done = phase !== undefined && isAttempt(phase) ? phase.tasksDone : [];
    return phaseOf(state, this.#place.phase).tasks.filter((task) => !done.includes(task.id)).length;
  }

  #toolFinished(tool: string, brief: string, ok: boolean): void {
    this.#toolCalls++;
    if (kindOfTool(tool) === "edit") this.#reread ??= this.#meter.sources.reads;
    if (!ok || kindOfTool(tool) !== "bash") return;
    const { gates } = phaseOf(this.#world.run.state, this.#place.phase);
    if (gates.some(({ check }) => check.type === "command" && brief.includes(check.command))) this.#natural = "gate";
    else if (/\bgit\b.*\bcommit\b/.test(brief)) this.#natural = "commit";
  }

  #warn(): void {
    const reading = readMeter(this.#meter);
    const { run } = this.#world;
    for (const level of newWarnings(run.state.config.context_warn, this.#warned, reading)) {
      this.#warned.add(level);
      run.append({ type: "context-warned", ...this.#at, level, reading });
    }
  }

  /** A call that reports no usage, where others did: said once. */
  #noUsage(): void {
    if (this.#saidNoUsage) return;
    this.#saidNoUsage = true;
    const { phase } = this.#place;
    const rest =
      this.#meter.anchor === undefined ? "what is read and said" : "the last call that did, and what came since";
    const message = `The agent reports no usage: the context is estimated from ${rest}.`;
    this.#world.run.append({ type: "warned", phase, message });
  }
  #saidNoUsage = false;

  /** What filled the window, for the journal. */
  measure(): void {
    const { first, sources } = this.#meter;
    if (first === undefined) return;
    const round = (tokens: number) => Math.round(tokens);
    this.#world.run.append({
      type: "session-measured",
      ...this.#at,
      firstPrompt: first,
      sources: {
        reads: round(sources.reads),
        outputs: round(sources.outputs),
        prompts: round(sources.prompts),
        words: round(sources.words),
      },
      reread: round(this.#reread ?? sources.reads),
      largestResult: largeResult(this.#meter),
    });
  }

  /** Nonsense is answered, so that the agent can correct it. */
  #splitRequested(result: PhaseResult): string {
    const { run } = this.#world;
    const { phase: id, purpose } = this.#place;
    const phase = run.state.phases.get(id);
    const done = phase !== undefined && isAttempt(phase) ? phase.tasksDone : [];
    const problem =
      purpose === "work"
        ? requestProblem(run.state, id, result, done)
        : "only a phase that is being worked on can be split. Repair what is named above.";
    if (problem !== undefined) throw new ToolRefusal(`Nothing was recorded: ${problem}`);
    run.append({ type: "result-reported", ...this.#at, result });
    return "Recorded. Stop now: Segno splits the phase.";
  }

  #toolHandlers(): ToolHandlers {
    const { run } = this.#world;
    const phase = phaseOf(run.state, this.#place.phase);
    return {
      progress: ({ message, task }) => {
        if (task !== undefined && !phase.tasks.some((candidate) => candidate.id === task)) {
          run.append({ type: "progress-reported", ...this.#at, message });
          return `Recorded as a note. There is no task ${task} in this phase; its tasks are: ${phase.tasks.map((candidate) => candidate.id).join(", ")}.`;
        }
        run.append({ type: "progress-reported", ...this.#at, message, task });
        this.#watch.progressed();
        if (task !== undefined) this.#natural = "task";
        return "Recorded.";
      },
      decision: ({ text }) => {
        run.append({ type: "decision-recorded", ...this.#at, text });
        return "Recorded.";
      },
      verdict: ({ criteria }) => {
        if (this.#place.purpose !== "verify") return "Only a session that verifies hands in a verdict.";
        const { top } = groundOf(this.#world, this.#place.phase);
        const verdicts = judgeVerdicts(phase.criteria, criteria, (path) => existsSync(join(top, path)));
        run.append({ type: "verdict-reported", ...this.#at, verdicts });
        return "Recorded. Stop now.";
      },
      checkpoint: (claims) => {
        this.claims = claims;
        return "Saved. Stop now: a fresh session goes on from here.";
      },
      phase_result: (result) => {
        if (this.#place.purpose === "verify") return "Nothing was recorded: this session only judges. Call verdict.";
        if (result.status === "split_request") return this.#splitRequested(result);
        run.append({ type: "result-reported", ...this.#at, result });
        return "Recorded. Stop now: Segno runs the gates.";
      },
    };
  }
}
