/**
 * A session in this process: the agent's conversation, its meter, and what the agent reported through the tools.
 *
 * Invariant: the meter sees an observation before anything else does.
 */
import type { Agent, AgentSession, Observation, SessionHandlers } from "../agents/agent.js";
import { type Learned, seenFirstPrompt } from "../context/forecast.js";
import { expectedGrowth, largeResult, type Meter, meter, newMeter, readMeter } from "../context/meter.js";
import { handoversOn, newWarnings } from "../context/policy.js";
import { costAt } from "../context/prices.js";
import { StuckWatch } from "../handover/stuck.js";
import { TOOL_ANSWERS } from "../handover/tool-answers.js";
import { type AtBoundary, sayAtBoundary } from "../run/boundary.js";
import { budgetWarnings } from "../run/budget.js";
import type { Chosen } from "../run/choosing.js";
import type { ToolKind, TurnEnd } from "../run/event.js";
import { howToAllow } from "../run/refusals.js";
import { givesUp, isCalledOff } from "../run/retries.js";
import { phaseOf } from "../run/state.js";
import { type SegnoTools, segnoTools } from "../tools/tools.js";
import { checkoutOf } from "./checkout.js";
import type { HeldRun, WarmSession } from "./held-run.js";
import { LookOut } from "./look-out.js";
import { markerOf } from "./marker.js";
import { type ReportPlace, Reports } from "./reports.js";
import { SessionWindow } from "./session-window.js";
import { SinceBoundary } from "./since-boundary.js";
import { Watchdog } from "./watchdog.js";

const MOST_REFUSED_BATCHES = 3;
const MOST_SAID = 40_000;
/** Once or twice is nothing to tell of. */
const SAYS_RETRIES_FROM = 3;
const PROGRESS_SKILL = /^\/?(?:debussy|segno)-progress\b[:\s]*(.*)$/i;

export type SessionPlace = ReportPlace;

/** Who works, and what was learned of them here. */
export interface Who {
  agent: Agent;
  model: string | undefined;
  learned: Learned;
}

export class LiveSession implements WarmSession {
  readonly #held: HeldRun;
  readonly #place: SessionPlace;
  readonly #who: Agent;
  /** The model that was asked for; undefined: the agent's own default. */
  readonly #asked: string | undefined;
  readonly #at: Omit<SessionPlace, "purpose">;
  readonly tools: SegnoTools;
  #agent: AgentSession | undefined;
  #meter: Meter;
  readonly #window: SessionWindow;
  #model: string | undefined;
  readonly #learned: Learned;
  #toolCalls = 0;
  readonly #since = new SinceBoundary();
  readonly #warned = new Set<number>();
  /** File reads before anything was written. */
  #reread: number | undefined;
  readonly #watchdog: Watchdog;
  readonly #watch: StuckWatch;
  /** All the agent said in the turn that is on, or was. */
  said = "";
  readonly #reports: Reports;
  #refusedBatches = 0;
  #lookOut: LookOut | undefined;
  #resumed = false;
  #pid: number | undefined;

  constructor(held: HeldRun, place: SessionPlace, { agent, model, learned }: Who) {
    this.#held = held;
    this.#who = agent;
    this.#asked = model;
    this.#place = place;
    this.#at = { phase: place.phase, attempt: place.attempt, session: place.session };
    const { config } = held.run.state;
    this.#watch = new StuckWatch(config);
    this.#watchdog = new Watchdog(config, () => isCalledOff(held.run.state, place.phase));
    this.#learned = learned;
    this.#meter = newMeter(config.context_limit, seenFirstPrompt(learned));
    this.#window = new SessionWindow(held, place, agent, learned, this.#meter.window);
    this.#reports = new Reports(held, place, {
      progressed: (isStep) => {
        this.#watch.progressed();
        if (isStep) this.#since.taskReported({ isBetween: true });
      },
      untold: () => this.#takeUntold(),
    });
    this.tools = segnoTools(this.#reports.handlers());
  }

  /** `resume`: the agent's own conversation to go on with. */
  async open(resume: string | undefined): Promise<AgentSession> {
    if (this.#agent !== undefined) return this.#agent;
    this.#lookOut = new LookOut(this.#held, this.#place);
    this.#resumed = resume !== undefined;
    const { run, agentEnv, gitEnv, door, isolated, permissions } = this.#held;
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
    this.#agent = await this.#who.open({
      marker: markerOf(run.state.run, this.#place.session),
      cwd,
      env,
      model: this.#asked,
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
    const end = await this.#watchdog.over(this.agent.send(prompt, options), options?.onlySegnoTools);
    if (end.type === "too-long" && end.window !== undefined && end.window < this.#window.whole)
      this.#windowIs(this.#window.seen(end.window, "the model refuses more", this.#model));
    return end;
  }

  get handed(): Reports["handed"] {
    return this.#reports.handed;
  }

  /** Whether it was started for these. */
  isOf({ agent, model }: Chosen): boolean {
    return this.#who === this.#held.crew.of(agent) && this.#asked === model;
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
      begins: (kind) => this.#begins(kind),
      givesUp: (retry) => {
        this.#watchdog.retries();
        if (retry.attempt >= SAYS_RETRIES_FROM)
          this.#held.run.warn(
            `${this.#who.title} gets no answer from its model and tries again by itself: ${retry.message || retry.kind}.`,
            this.#place.phase,
          );
        return givesUp(retry);
      },
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
      case "window":
        this.#windowIs(this.#window.told(observation.window, observation.compactAt, this.#model));
        return;
      case "call": {
        const { id, model, usage, subagent } = observation;
        const reading = readMeter(this.#meter);
        const price = this.#who.priceOf(model);
        const cost = costAt(price, usage);
        if (price === undefined)
          run.warn(`What ${model} costs is not known: its tokens are counted, its dollars are not (max_cost_usd).`);
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
        if (kind !== "segno") this.#since.circle ??= this.#watch.take({ tool: name, brief, ok, call, result, edit });
        return;
      }
      case "refused":
        run.append({ type: "tool-refused", ...this.#at, tool: observation.tool, why: observation.why });
        run.warn(`The agent was refused a tool. ${howToAllow(observation.tool, run.state)}.`, this.#place.phase);
        return;
      case "compacted":
        run.append({ type: "compacted", ...this.#at, before: observation.before, after: observation.after });
        if (this.#window.isMuchEarlier(observation.before))
          this.#windowIs(this.#window.seen(observation.before, "the agent compacted its context there", this.#model));
        return;
      case "said":
        if (this.said.length < MOST_SAID) this.said += `${this.said === "" ? "" : "\n\n"}${observation.text}`;
        return;
      default:
        observation satisfies never;
    }
  }

  /** What a tool that is about to run is answered instead. */
  #begins(kind: ToolKind): string | undefined {
    const { state } = this.#held.run;
    if (state.sessions.get(this.#place.session)?.step === "checkpointing") return undefined;
    const handsOver = (): boolean => sayAtBoundary(state, this.#atNextBoundary()).stop === "context";
    return this.#since.refuses(kind, handsOver) ? TOOL_ANSWERS.notNow : undefined;
  }

  /** As it will be when the tools that are about to run have finished, if they bring as much as a call did so far. */
  #atNextBoundary(): AtBoundary {
    const at = this.#atBoundary();
    const { tokens } = at.reading;
    const calls = this.#held.run.state.sessions.get(this.#place.session)?.calls ?? 0;
    const perCall = Math.max(0, tokens - (at.firstSeen ?? tokens)) / Math.max(1, calls);
    return { ...at, reading: { ...at.reading, tokens: Math.round(tokens + perCall) } };
  }

  /** A soft threshold below what a session begins with would end it after every task: it does not count, and that is said. */
  #sayUselessSoft(): void {
    const { config } = this.#held.run.state;
    const { first, window } = this.#meter;
    const { context_soft: soft, context_policy: policy } = config;
    if (policy !== "restart" || typeof soft !== "number" || first === undefined || first < (window * soft) / 100)
      return;
    this.#held.run.warn(
      `context_soft: ${soft} is ${Math.round((window * soft) / 100)} tokens, and a session begins with ${first} here: it does not count. Raise it, or say auto.`,
    );
  }

  /** What the run says at this boundary; what it says is in the journal before the agent hears it. */
  async #boundary(): Promise<Awaited<ReturnType<SessionHandlers["boundary"]>>> {
    const { run } = this.#held;
    this.#warn();
    this.#sayUselessSoft();
    if (run.state.sessions.get(this.#place.session)?.step !== "checkpointing")
      await this.#lookOut?.look({ taskDone: this.#since.taskDone });
    const said = sayAtBoundary(run.state, this.#atBoundary());
    this.#since.begin();
    if (said.facts.length > 0) await run.record(...said.facts);
    if (said.stop !== undefined) return { stop: true, why: said.stop };
    // Where it cannot be told here, it hears it with the answer of one of our tools.
    return { stop: false, tell: this.#who.abilities.tells ? this.#takeUntold() : undefined };
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

  #atBoundary(): AtBoundary {
    const { run } = this.#held;
    const asksCheckpoint = run.state.sessions.get(this.#place.session)?.step === "checkpointing";
    return {
      ...this.#at,
      reading: readMeter(this.#meter),
      limits: this.#window.limits(largeResult(this.#meter)),
      firstPrompt: this.#resumed ? undefined : this.#meter.first,
      firstSeen: this.#meter.first,
      growth: expectedGrowth(this.#meter),
      natural: this.#since.natural,
      toolCalls: this.#toolCalls,
      price: this.#model === undefined ? undefined : this.#who.priceOf(this.#model),
      rereadBefore: this.#learned.rereads?.toReversed() ?? [],
      circle: this.#since.circle,
      // An agent that goes on calling tools it was refused would burn its last tokens on it.
      checkpointOver: asksCheckpoint && this.#checkpointOver(),
    };
  }

  /** It is handed in, and no result is expected beside it; or other tools were called again and again. */
  #checkpointOver(): boolean {
    if (this.handed !== undefined && !this.#reports.expectsResult) return true;
    this.#reports.expectsResult = false;
    return ++this.#refusedBatches >= MOST_REFUSED_BATCHES;
  }

  #toolFinished(kind: ToolKind, brief: string, ok: boolean): void {
    this.#toolCalls++;
    if (kind === "edit") this.#reread ??= this.#meter.sources.reads;
    this.#lookOut?.toolFinished(kind, brief);
    if (!ok || kind !== "shell") return;
    const { gates } = phaseOf(this.#held.run.state, this.#place.phase);
    const commands = gates.flatMap(({ check }) => (check.type === "command" ? [check.command] : []));
    this.#since.shellSucceeded(brief, commands);
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
    this.#since.taskReported({ isBetween: false });
    this.#held.run.append({ type: "progress-reported", ...this.#at, message, task });
  }

  #windowIs(window: number): void {
    this.#meter = meter(this.#meter, { type: "window", window });
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
}
