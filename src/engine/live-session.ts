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
import { type Learned, seenFirstPrompt } from "../context/forecast.js";
import { expectedGrowth, largeResult, type Meter, meter, newMeter, readMeter } from "../context/meter.js";
import { handoverPoint, handoversOn, type Limits, type NaturalBoundary, newWarnings } from "../context/policy.js";
import { costAt } from "../context/prices.js";
import { undermines } from "../gates/suspicion.js";
import type { Claims } from "../handover/claims.js";
import { writeHanded } from "../handover/handed.js";
import { judgeVerdicts } from "../handover/review.js";
import { StuckWatch } from "../handover/stuck.js";
import { TOOL_ANSWERS } from "../handover/tool-answers.js";
import { type AtBoundary, sayAtBoundary } from "../run/boundary.js";
import { budgetWarnings } from "../run/budget.js";
import type { Circle } from "../run/circles.js";
import type { Purpose } from "../run/command.js";
import type { BlobRef, Fact, ToolKind, TurnEnd } from "../run/event.js";
import type { PhaseResult } from "../run/outcome.js";
import { isAttempted } from "../run/phase.js";
import { howToAllow } from "../run/refusals.js";
import { givesUp } from "../run/retries.js";
import { requestProblem } from "../run/splitting.js";
import { phaseOf } from "../run/state.js";
import { type SegnoTools, segnoTools, type ToolHandlers, ToolRefusal } from "../tools/tools.js";
import { lookAtChange } from "./change.js";
import { checkoutOf } from "./checkout.js";
import type { HeldRun, WarmSession } from "./held-run.js";
import { LookOut } from "./look-out.js";
import { markerOf } from "./marker.js";
import { Watchdog } from "./watchdog.js";

const MOST_REFUSED_BATCHES = 3;
const MOST_SAID = 40_000;
const MUCH_EARLIER = 0.9;
const PROGRESS_SKILL = /^\/?(?:debussy|segno)-progress\b[:\s]*(.*)$/i;

export interface SessionPlace {
  phase: string;
  purpose: Purpose;
  attempt: number;
  session: string;
}

export class LiveSession implements WarmSession {
  readonly #held: HeldRun;
  readonly #place: SessionPlace;
  readonly #at: Omit<SessionPlace, "purpose">;
  readonly tools: SegnoTools;
  #agent: AgentSession | undefined;
  #meter: Meter;
  /** All that the model takes, whatever counts as the window here. */
  #whole: number;
  #compactAt: number | undefined;
  #model: string | undefined;
  readonly #learned: Learned;
  #toolCalls = 0;
  /** What made the boundary that comes next a natural one. */
  #natural: NaturalBoundary | undefined;
  readonly #warned = new Set<number>();
  /** File reads before anything was written. */
  #reread: number | undefined;
  readonly #watchdog: Watchdog;
  readonly #watch: StuckWatch;
  #circle: Circle | undefined;
  /** All the agent said in the turn that is on, or was. */
  said = "";
  handed: { claims: Claims; kept: BlobRef } | undefined;
  #refusedBatches = 0;
  #lookOut: LookOut | undefined;
  #resumed = false;
  #pid: number | undefined;

  constructor(held: HeldRun, place: SessionPlace, learned: Learned) {
    this.#held = held;
    this.#place = place;
    this.#at = { phase: place.phase, attempt: place.attempt, session: place.session };
    const { config } = held.run.state;
    this.#watch = new StuckWatch(config);
    this.#watchdog = new Watchdog(config);
    this.#learned = learned;
    this.#meter = newMeter(config.context_limit, seenFirstPrompt(learned));
    this.#whole = this.#meter.window;
    this.tools = segnoTools(this.#toolHandlers());
  }

  /** `resume`: the agent's own conversation to go on with. */
  async open(resume: string | undefined): Promise<AgentSession> {
    if (this.#agent !== undefined) return this.#agent;
    this.#lookOut = new LookOut(this.#held, this.#place);
    this.#resumed = resume !== undefined;
    const { run, agent, agentEnv, gitEnv, door, isolated, permissions } = this.#held;
    const { phase, session } = this.#place;
    const token = door?.sessionToken(session);
    const env = {
      ...agentEnv,
      ...gitEnv,
      SEGNO_RUN: run.state.run,
      SEGNO_PHASE: phase,
      ...(door === undefined || token === undefined ? {} : { SEGNO_DOOR: door.url, SEGNO_TOKEN: token }),
    };
    const { config } = run.state;
    const { cwd } = checkoutOf(this.#held, phase);
    this.#agent = await agent.open({
      marker: markerOf(run.state.run, this.#place.session),
      cwd,
      env,
      model: config.model,
      permissions,
      readOnly: this.#place.purpose === "verify",
      isolated,
      compacts: !handoversOn(config),
      sandbox: config.sandbox,
      allowedTools: config.allowed_tools,
      deniedTools: config.denied_tools,
      resume,
      tools: this.tools,
      mcp: door === undefined || token === undefined ? undefined : { url: `${door.url}/mcp`, token },
      handlers: this.#handlers(),
    });
    return this.#agent;
  }

  /** Ends the agent and everything it started; the number of processes that had to be ended. */
  async close(): Promise<number> {
    // It may have been ended before it was opened.
    const swept = (await this.#agent?.close()) ?? 0;
    if (this.#pid !== undefined) this.#held.warden.unwatch(this.#pid);
    return swept;
  }

  /** One turn; what was said in the last one is forgotten. */
  async send(prompt: string, options?: { onlySegnoTools: boolean }): Promise<TurnEnd> {
    this.said = "";
    const end = await this.#watchdog.over(this.agent.send(prompt, options));
    if (end.type === "too-long" && end.window !== undefined && end.window < this.#whole)
      this.#windowSeen(end.window, "the model refuses more");
    return end;
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
        this.#held.warden.watch(pid);
      },
      observe: (observation) => this.#observe(observation),
      boundary: () => this.#boundary(),
      givesUp,
      mayCompact: () => {
        if (!handoversOn(this.#held.run.state.config)) return true;
        this.#held.run.append({ type: "compaction-blocked", ...this.#at });
        return false;
      },
    };
  }

  #observe(observation: Observation): void {
    const { run } = this.#held;
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
        const { agentSession, model } = observation;
        this.#model = model;
        run.append({ type: "session-ready", ...this.#at, agentSession, model });
        return;
      }
      case "window": {
        const seen = this.#learned.windows?.[this.#windowKey] ?? Number.POSITIVE_INFINITY;
        this.#compactAt = observation.compactAt;
        this.#windowKnown(Math.min(observation.window || this.#whole, seen));
        return;
      }
      case "call": {
        const { id, model, usage, subagent } = observation;
        const reading = readMeter(this.#meter);
        const cost = costAt(this.#held.agent.priceOf(model), usage);
        run.append({ type: "call-made", ...this.#at, call: id, model, usage, cost, subagent, reading });
        if (!subagent) this.#warn();
        for (const message of budgetWarnings(run.state)) run.warn(message);
        return;
      }
      case "tool": {
        this.#watchdog.toolFinished(observation.id);
        const { kind, name, brief, ok, subagent, call, result, edit } = observation;
        run.append({ type: "tool-finished", ...this.#at, kind, tool: name, brief, ok, subagent, call, result });
        if (subagent) return;
        this.#skillCalled(name, brief, ok);
        this.#toolFinished(kind, brief, ok);
        if (kind !== "segno") this.#circle ??= this.#watch.take({ tool: name, brief, ok, call, result, edit });
        return;
      }
      case "refused":
        run.append({ type: "tool-refused", ...this.#at, tool: observation.tool, why: observation.why });
        run.warn(`The agent was refused a tool. ${howToAllow(observation.tool, run.state)}.`, this.#place.phase);
        return;
      case "compacted":
        run.append({ type: "compacted", ...this.#at, before: observation.before, after: observation.after });
        // Far below where it should: the window is not what it was said to be.
        if (observation.before > 0 && observation.before < (this.#compactAt ?? this.#whole) * MUCH_EARLIER)
          this.#windowSeen(observation.before, "the agent compacted its context there");
        return;
      case "said":
        if (this.said.length < MOST_SAID) this.said += `${this.said === "" ? "" : "\n\n"}${observation.text}`;
        return;
      default:
        observation satisfies never;
    }
  }

  /** What the run says at this boundary; what it says is in the journal before the agent hears it. */
  async #boundary(): Promise<Awaited<ReturnType<SessionHandlers["boundary"]>>> {
    const { run } = this.#held;
    this.#warn();
    if (run.state.sessions.get(this.#place.session)?.step !== "checkpointing")
      await this.#lookOut?.look({ taskDone: this.#natural === "task" });
    const said = sayAtBoundary(run.state, this.#atBoundary());
    if (said.facts.length > 0) await run.record(...said.facts);
    if (said.stop !== undefined) return { stop: true, why: said.stop };
    // Where it cannot be told here, it hears it with the answer of one of our tools.
    return { stop: false, tell: this.#held.agent.abilities.tells ? this.#takeUntold() : undefined };
  }

  /** What the agent is to hear of what it did, as a text that its window holds from here on. */
  #takeUntold(): string | undefined {
    const text = this.#lookOut?.takeUntold();
    if (text === undefined) return undefined;
    const key = `told-${++this.#told}`;
    this.#meter = meter(this.#meter, { type: "appended", key, kind: "meta", chars: text.length, isResult: false });
    return text;
  }
  #told = 0;

  /** What was seen since the last boundary; it counts for this one only. */
  #atBoundary(): AtBoundary {
    const { run } = this.#held;
    const natural = this.#natural;
    const circle = this.#circle;
    this.#natural = undefined;
    this.#circle = undefined;
    const asksCheckpoint = run.state.sessions.get(this.#place.session)?.step === "checkpointing";
    return {
      ...this.#at,
      reading: readMeter(this.#meter),
      limits: { ...this.#limits, reserve: largeResult(this.#meter) },
      firstPrompt: this.#resumed ? undefined : this.#meter.first,
      firstSeen: this.#meter.first,
      growth: expectedGrowth(this.#meter),
      natural,
      toolCalls: this.#toolCalls,
      price: this.#model === undefined ? undefined : this.#held.agent.priceOf(this.#model),
      rereadBefore: this.#learned.rereads?.toReversed() ?? [],
      circle,
      // An agent that goes on calling tools it was refused would burn its last tokens on it.
      checkpointOver: asksCheckpoint && (this.handed !== undefined || ++this.#refusedBatches >= MOST_REFUSED_BATCHES),
    };
  }

  #toolFinished(kind: ToolKind, brief: string, ok: boolean): void {
    this.#toolCalls++;
    if (kind === "edit") this.#reread ??= this.#meter.sources.reads;
    this.#lookOut?.toolFinished(kind, brief);
    if (!ok || kind !== "shell") return;
    const { gates } = phaseOf(this.#held.run.state, this.#place.phase);
    if (gates.some(({ check }) => check.type === "command" && brief.includes(check.command))) this.#natural = "gate";
    else if (/\bgit\b.*\bcommit\b/.test(brief)) this.#natural = "commit";
  }

  /** Plans written for another tool report through its skill: what is said there counts as reported. */
  #skillCalled(tool: string, brief: string, ok: boolean): void {
    const message = tool === "Skill" && ok ? PROGRESS_SKILL.exec(brief)?.[1]?.trim() : undefined;
    if (message === undefined || message === "") return;
    const phase = phaseOf(this.#held.run.state, this.#place.phase);
    const task = phase.tasks.find(({ id }) =>
      new RegExp(`(^|\\s)${id.replaceAll(".", "\\.")}(\\s|:|$)`).test(message),
    )?.id;
    this.#watch.progressed();
    this.#natural = "task";
    this.#held.run.append({ type: "progress-reported", ...this.#at, message, task });
  }

  get #limits(): Limits {
    return { window: this.#meter.window, whole: this.#whole, compactAt: this.#compactAt, reserve: 0 };
  }

  /** How large the window is, and so where the session is handed over. */
  #windowKnown(whole: number): void {
    const { run } = this.#held;
    const { config } = run.state;
    this.#whole = whole;
    const window = Math.min(whole, config.context_limit ?? Number.POSITIVE_INFINITY);
    this.#meter = meter(this.#meter, { type: "window", window });
    const { tokens, rule } = handoverPoint(config, this.#limits);
    const soft = config.context_policy === "restart" ? config.context_soft : "off";
    const hands = handoversOn(config) ? { tokens: Math.round(tokens), rule, soft } : undefined;
    run.append({ type: "window-known", ...this.#at, window, whole, compactAt: this.#compactAt, hands });
  }

  /** It is smaller than it was said to be: that counts from now on, for this model and this account. */
  #windowSeen(tokens: number, why: string): void {
    const { run, store, agent } = this.#held;
    run.warn(
      `The window of ${this.#model ?? "the model"} is ${tokens} tokens here, not ${this.#whole}: ${why}. That counts from now on.`,
    );
    // It only ever helps: a run does not end for it.
    const learned = { firstPrompts: [], samples: [], windows: { [this.#windowKey]: tokens } };
    store.learn(agent.name, learned).catch(() => {});
    this.#windowKnown(tokens);
  }

  get #windowKey(): string {
    return `${this.#model ?? ""} ${this.#held.agent.account(this.#held.agentEnv)}`.trim();
  }

  #warn(): void {
    const reading = readMeter(this.#meter);
    const { run } = this.#held;
    for (const level of newWarnings(run.state.config.context_warn, this.#warned, reading)) {
      this.#warned.add(level);
      run.append({ type: "context-warned", ...this.#at, level, reading });
    }
  }

  /** A call that reports no usage, where others did: said once. */
  #noUsage(): void {
    if (this.#saidNoUsage) return;
    this.#saidNoUsage = true;
    const rest =
      this.#meter.anchor === undefined ? "what is read and said" : "the last call that did, and what came since";
    const message = `The agent reports no usage: the context is estimated from ${rest}.`;
    this.#held.run.warn(message, this.#place.phase);
  }
  #saidNoUsage = false;

  /** What filled the window, for the journal. */
  measure(): void {
    const { first, sources } = this.#meter;
    if (first === undefined) return;
    const round = (tokens: number) => Math.round(tokens);
    this.#held.run.append({
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
  async #splitRequested(result: PhaseResult): Promise<string> {
    const { run } = this.#held;
    const { phase: id, purpose } = this.#place;
    const phase = run.state.phases.get(id);
    const done = isAttempted(phase) ? phase.attempt.progress.tasksDone : [];
    const repairs = purpose === "remediate";
    const problem =
      purpose === "work" || repairs
        ? requestProblem(run.state, id, result, { done, repairs })
        : TOOL_ANSWERS.noSplitNow;
    if (problem !== undefined) throw new ToolRefusal(TOOL_ANSWERS.notRecorded(problem));
    await this.#keep({ type: "result-reported", ...this.#at, result });
    return TOOL_ANSWERS.split;
  }

  /** What judges the phase was changed, and nobody asked for that: its result counts only after a word about it. */
  async #askAboutChange(): Promise<void> {
    const { run } = this.#held;
    const { phase: id, purpose } = this.#place;
    const phase = run.state.phases.get(id);
    if (run.state.config.suspicious !== "ask" || purpose === "merge" || !isAttempted(phase)) return;
    const { asked } = phase.attempt.judged;
    const { suspicions } = await lookAtChange(this.#held, id, phase.attempt);
    const found = suspicions.filter((one) => undermines(one) && !asked.includes(one.text));
    if (found.length === 0) return;
    await this.#keep({ type: "suspicion-raised", ...this.#at, suspicions: found });
    throw new ToolRefusal(TOOL_ANSWERS.undermined(found.map(({ text }) => text)));
  }

  /** In the journal, and kept, before the agent hears so. */
  async #keep(fact: Fact): Promise<void> {
    const { run } = this.#held;
    run.append(fact);
    await run.flush();
  }

  #toolHandlers(): ToolHandlers {
    const { run } = this.#held;
    const phase = phaseOf(run.state, this.#place.phase);
    return {
      progress: async ({ message, task }) => {
        if (task !== undefined && !phase.tasks.some((candidate) => candidate.id === task)) {
          await this.#keep({ type: "progress-reported", ...this.#at, message });
          return TOOL_ANSWERS.noSuchTask(
            task,
            phase.tasks.map(({ id }) => id),
          );
        }
        this.#watch.progressed();
        if (task !== undefined || phase.tasks.length === 0) this.#natural = "task";
        await this.#keep({ type: "progress-reported", ...this.#at, message, task });
        return [TOOL_ANSWERS.recorded, this.#takeUntold() ?? ""].filter((text) => text !== "").join("\n\n");
      },
      decision: async ({ text }) => {
        await this.#keep({ type: "decision-recorded", ...this.#at, text });
        return TOOL_ANSWERS.recorded;
      },
      verdict: async ({ criteria }) => {
        if (this.#place.purpose !== "verify") return TOOL_ANSWERS.noVerdict;
        const { top } = checkoutOf(this.#held, this.#place.phase);
        const verdicts = judgeVerdicts(phase.criteria, criteria, (path) => existsSync(join(top, path)));
        await this.#keep({ type: "verdict-reported", ...this.#at, verdicts });
        return TOOL_ANSWERS.verdict;
      },
      checkpoint: async (claims) => {
        const kept = run.putBlob(writeHanded({ type: "tool", claims }));
        this.handed = { claims, kept };
        await this.#keep({ type: "checkpoint-reported", ...this.#at, handed: kept });
        return TOOL_ANSWERS.saved;
      },
      phase_result: async (result) => {
        if (this.#place.purpose === "verify") return TOOL_ANSWERS.onlyVerdict;
        if (result.status === "split_request") return this.#splitRequested(result);
        if (result.status === "completed") await this.#askAboutChange();
        await this.#keep({ type: "result-reported", ...this.#at, result });
        return TOOL_ANSWERS.result;
      },
    };
  }
}
