/**
 * A session in this process: the agent's conversation, its meter, and what the agent reported through the tools.
 *
 * Invariants
 * 1. The meter sees an observation before anything else does.
 * 2. What the agent reports is in the journal before the agent gets its answer.
 */
import type { AgentSession, Observation, SessionHandlers } from "../agents/agent.js";
import { type Meter, meter, newMeter, readMeter } from "../context/meter.js";
import { decideBoundary, handoversOn, thresholdTokens } from "../context/policy.js";
import type { Claims } from "../handover/checkpoint.js";
import { isAttempt, phaseOf } from "../run/state.js";
import { type SegnoTools, segnoTools, type ToolHandlers } from "../tools/tools.js";
import { markerOf, type WarmSession, type World } from "./world.js";

const MOST_REFUSED_BATCHES = 3;

interface Place {
  phase: string;
  attempt: number;
  session: string;
}

export class LiveSession implements WarmSession {
  readonly #world: World;
  readonly #place: Place;
  readonly tools: SegnoTools;
  #agent: AgentSession | undefined;
  #meter: Meter;
  #compactAt: number | undefined;
  #firstPrompt: number | undefined;
  claims: Claims | undefined;
  #refusedBatches = 0;
  #resumed = false;
  #pid: number | undefined;

  constructor(world: World, place: Place) {
    this.#world = world;
    this.#place = place;
    this.#meter = newMeter(world.run.state.config.context_limit);
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
    const { config, cwd } = run.state;
    this.#agent = await agent.open({
      marker: markerOf(run.state.run, this.#place.session),
      cwd,
      env,
      model: config.model,
      permissionMode,
      isolated,
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
        this.#world.run.append({ type: "compaction-blocked", ...this.#place });
        return false;
      },
    };
  }

  #observe(observation: Observation): void {
    const { run } = this.#world;
    switch (observation.type) {
      case "meter":
        this.#meter = meter(this.#meter, observation.input);
        if (observation.input.type === "call-started") this.#firstPrompt ??= observation.input.prompt;
        return;
      case "ready": {
        const { agentSession, model, compactAt } = observation;
        const limit = run.state.config.context_limit;
        const window = Math.min(observation.window || this.#meter.window, limit ?? Number.POSITIVE_INFINITY);
        this.#meter = meter(this.#meter, { type: "window", window });
        this.#compactAt = compactAt;
        run.append({ type: "session-ready", ...this.#place, agentSession, model, window, compactAt });
        return;
      }
      case "call": {
        const { id, model, usage, subagent } = observation;
        run.append({
          type: "call-made",
          ...this.#place,
          call: id,
          model,
          usage,
          subagent,
          reading: readMeter(this.#meter),
        });
        return;
      }
      case "tool": {
        const { name, brief, ok, subagent } = observation;
        run.append({ type: "tool-finished", ...this.#place, tool: name, brief, ok, subagent });
        return;
      }
      case "compacted":
        run.append({ type: "compacted", ...this.#place, before: observation.before, after: observation.after });
        return;
      case "said":
        return;
      default:
        observation satisfies never;
    }
  }

  #boundary(): Awaited<ReturnType<SessionHandlers["boundary"]>> {
    const { run } = this.#world;
    const { config, stopping, hold } = run.state;
    const phase = run.state.phases.get(this.#place.phase);
    const session = run.state.sessions.get(this.#place.session);
    if (session?.result !== undefined) return { stop: true, why: "reported" };
    if (session?.step === "checkpointing") {
      // An agent that goes on calling tools it was refused would burn its last tokens on it.
      const over = this.claims !== undefined || ++this.#refusedBatches >= MOST_REFUSED_BATCHES;
      return over ? { stop: true, why: "reported" } : { stop: false };
    }
    const reading = readMeter(this.#meter);
    const decision = decideBoundary(config, {
      reading,
      // A conversation that was taken up again begins as full as it was.
      firstPrompt: this.#resumed ? undefined : this.#firstPrompt,
      compactAt: this.#compactAt,
    });
    const asked =
      phase !== undefined && isAttempt(phase) && phase.skipping ? "skipped" : stopping ? "stop-requested" : undefined;
    const why = asked ?? (decision.go ? (hold === undefined ? undefined : "paused") : decision.why);
    if (why === undefined) return { stop: false };
    const threshold = Math.round(thresholdTokens(config, reading.window, this.#compactAt));
    run.append({ type: "boundary-decided", ...this.#place, why, reading, threshold });
    return { stop: true, why };
  }

  #toolHandlers(): ToolHandlers {
    const { run } = this.#world;
    const phase = phaseOf(run.state, this.#place.phase);
    return {
      progress: ({ message, task }) => {
        if (task !== undefined && !phase.tasks.some((candidate) => candidate.id === task)) {
          run.append({ type: "progress-reported", ...this.#place, message });
          return `Recorded as a note. There is no task ${task} in this phase; its tasks are: ${phase.tasks.map((candidate) => candidate.id).join(", ")}.`;
        }
        run.append({ type: "progress-reported", ...this.#place, message, task });
        return "Recorded.";
      },
      decision: ({ text }) => {
        run.append({ type: "decision-recorded", ...this.#place, text });
        return "Recorded.";
      },
      checkpoint: (claims) => {
        this.claims = claims;
        return "Saved. Stop now: a fresh session goes on from here.";
      },
      phase_result: (result) => {
        run.append({ type: "result-reported", ...this.#place, result });
        return "Recorded. Stop now: Segno runs the gates.";
      },
    };
  }
}
