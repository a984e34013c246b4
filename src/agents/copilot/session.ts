/**
 * Copilot through its SDK: its runtime is a process of its own, our tools are called in this one.
 *
 * Invariants
 * 1. Every model call goes through `sendRequest` here first: a boundary is decided while it waits, and a turn that is stopped
 *    there is aborted before the request goes out.
 * 2. A call for a summary is refused unless it may compact: its own switch does not keep it from that.
 * 3. What a sub-agent does has a parent: no boundary, and no window.
 */

import type { StopWhy, TurnEnd } from "../../run/event.js";
import { ONLY_SEGNO_TOOLS } from "../../tools/tools.js";
import type { AgentSession, SessionOptions } from "../agent.js";
import { findProcesses, MARKER, sweep } from "../processes.js";
import { settled, within } from "../within.js";
import { type CopilotError, failedEnd, failedKind } from "./errors.js";
import { EventStream } from "./events.js";
import { providerOf } from "./provider.js";
import type {
  CopilotEvent,
  CopilotSdkClient,
  CopilotSdkSession,
  PermissionRequest,
  RequestContext,
  Sdk,
  SessionConfig,
} from "./sdk.js";
import { isOurs, toolKind, toolName } from "./tools.js";

const SETTLE_MS = 3_000;
const START_MS = 60_000;
const LOOK_MS = 500;
const REHEARSAL_MODEL = "stand-in";
const COMPACTION = "conversation-compaction";

export async function openSession(options: SessionOptions, sdk: Sdk): Promise<AgentSession> {
  const session = new CopilotSession(options);
  await session.start(sdk);
  return session;
}

class CopilotSession implements AgentSession {
  readonly #options: SessionOptions;
  readonly #events: EventStream;
  #client: CopilotSdkClient | undefined;
  #session: CopilotSdkSession | undefined;
  #turn: ((end: TurnEnd) => void) | undefined;
  #gone: TurnEnd | undefined;
  #error: CopilotError | undefined;
  #onlySegnoTools = false;
  #oursCalled = false;
  #stopWhy: StopWhy | undefined;
  #gaveUp: TurnEnd | undefined;
  /** Requests that went out in this turn, and how many calls had been answered before the last of them. */
  #requests = 0;
  #answered = 0;
  #retries = 0;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#events = new EventStream(options.handlers.observe, options.compacts);
  }

  async start(sdk: Sdk): Promise<void> {
    const { cwd, env, marker, isolated, handlers, resume } = this.#options;
    const provider = providerOf(env, isolated);
    const before = (context: RequestContext): Promise<void> => this.#beforeRequest(context);
    const handler = new (class extends sdk.CopilotRequestHandler {
      override async sendRequest(request: Request, context: RequestContext): Promise<Response> {
        await before(context);
        return super.sendRequest(request, context);
      }
    })();
    const offline = isolated ? { COPILOT_OFFLINE: "true" } : {};
    const client = new sdk.CopilotClient({
      workingDirectory: cwd,
      useLoggedInUser: provider === undefined,
      env: { ...env, ...offline, [MARKER]: marker },
      logLevel: "none",
      requestHandler: handler,
    });
    this.#client = client;
    try {
      await within(START_MS, client.start());
      const [main] = await findProcesses((each) => each === marker);
      if (main !== undefined) {
        handlers.spawned(main.pid);
        this.#watch(main.pid);
      }
      const config = this.#config(sdk, provider);
      const opened = resume === undefined ? client.createSession(config) : client.resumeSession(resume, config);
      this.#session = await within(START_MS, opened);
      handlers.observe({ type: "ready", agentSession: this.#session.sessionId, model: config.model ?? "auto" });
    } catch (error) {
      this.#ended(error instanceof Error ? error.message : String(error));
    }
  }

  /** Nothing in the SDK tells that its runtime is gone. */
  #watch(pid: number): void {
    this.#watching = setInterval(() => {
      if (!isAlive(pid)) this.#ended("the agent's process ended");
    }, LOOK_MS);
    this.#watching.unref();
  }
  #watching: NodeJS.Timeout | undefined;

  #config(sdk: Sdk, provider: Record<string, unknown> | undefined): SessionConfig {
    const { cwd, env, model, isolated, compacts, deniedTools, tools } = this.#options;
    const named = model ?? (isolated ? REHEARSAL_MODEL : provider === undefined ? undefined : env.COPILOT_MODEL);
    return {
      ...(named === undefined ? {} : { model: named }),
      workingDirectory: cwd,
      ...(provider === undefined ? {} : { provider }),
      streaming: true,
      infiniteSessions: { enabled: compacts },
      ...(isolated ? { skipCustomInstructions: true } : { enableConfigDiscovery: true }),
      ...(deniedTools.length === 0 ? {} : { excludedTools: [...deniedTools] }),
      tools: tools.list.map(({ name, description, inputSchema }) =>
        sdk.defineTool(toolName(name), {
          description,
          parameters: inputSchema,
          skipPermission: true,
          defer: "never",
          handler: async (input: unknown) => {
            this.#oursCalled = true;
            const { text, isError } = await tools.call(name, input);
            return isError ? { textResultForLlm: text, resultType: "failure" } : text;
          },
        }),
      ),
      onPermissionRequest: (request) => this.#permissionAsked(request),
      hooks: {
        onPreToolUse: ({ toolName: name }) => {
          const refusal = this.#refusal(name);
          return refusal === undefined ? undefined : { permissionDecision: "deny", permissionDecisionReason: refusal };
        },
      },
      onEvent: (event) => this.#told(event),
    };
  }

  send(prompt: string, { onlySegnoTools } = { onlySegnoTools: false }): Promise<TurnEnd> {
    const session = this.#session;
    if (this.#gone !== undefined || session === undefined) return Promise.resolve(this.#gone ?? CRASHED);
    this.#onlySegnoTools = onlySegnoTools;
    this.#oursCalled = false;
    this.#stopWhy = undefined;
    this.#gaveUp = undefined;
    this.#error = undefined;
    this.#requests = 0;
    this.#retries = 0;
    this.#events.prompted(prompt);
    const over = new Promise<TurnEnd>((resolve) => {
      this.#turn = resolve;
    });
    session.send({ prompt }).catch((error: unknown) => this.#ended(String(error)));
    return over;
  }

  async close(): Promise<number> {
    const client = this.#client;
    this.#client = undefined;
    clearInterval(this.#watching);
    await settled(SETTLE_MS, client?.stop());
    const swept = await sweep((marker) => marker === this.#options.marker);
    // What is left of its connection is not waited for.
    if (client !== undefined) await client.forceStop().catch(() => {});
    this.#ended("it was closed");
    return swept;
  }

  async #beforeRequest({ parentAgentId, interactionType, signal }: RequestContext): Promise<void> {
    const { handlers } = this.#options;
    handlers.observe({ type: "alive" });
    if (interactionType === COMPACTION && !handlers.mayCompact()) throw new Error("Segno hands over instead");
    if (parentAgentId !== undefined || interactionType === COMPACTION || this.#turn === undefined) return;
    const isRetry = this.#requests++ > 0 && this.#events.calls === this.#answered;
    this.#answered = this.#events.calls;
    if (isRetry && this.#givesUp()) return this.#abort(signal);
    if (this.#events.tools === 0) return;
    this.#events.tools = 0;
    this.#oursCalled = false;
    const decision = await handlers.boundary();
    if (!decision.stop) return;
    this.#stopWhy = decision.why;
    return this.#abort(signal);
  }

  #givesUp(): boolean {
    const error = this.#error ?? { message: "the model did not answer" };
    const kind = failedKind(error);
    const retry = {
      attempt: ++this.#retries,
      kind: kind === "other" ? ("api" as const) : kind,
      message: error.message ?? "",
    };
    if (!this.#options.handlers.givesUp(retry)) return false;
    this.#gaveUp = { type: "failed", kind: retry.kind, message: retry.message };
    return true;
  }

  /** The request that waits never goes out. */
  async #abort(signal: AbortSignal): Promise<void> {
    const aborted = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
    await this.#session?.abort().catch(() => {});
    await settled(SETTLE_MS, aborted);
    throw new Error("Segno stopped the turn");
  }

  #told(event: CopilotEvent): void {
    const { observe } = this.#options.handlers;
    if (/^(assistant|tool|session|model)\./.test(event.type)) observe({ type: "alive" });
    this.#events.take(event);
    if (event.agentId !== undefined) return;
    if (event.type === "session.error") this.#error = event.data as CopilotError;
    if (event.type === "session.idle") this.#idle(event.data.aborted === true);
  }

  #idle(aborted: boolean): void {
    if (this.#stopWhy !== undefined) return this.#settle({ type: "stopped", why: this.#stopWhy });
    if (this.#gaveUp !== undefined) return this.#settle(this.#gaveUp);
    if (this.#error !== undefined) return this.#settle(failedEnd(this.#error));
    if (aborted) return this.#settle({ type: "failed", kind: "other", message: "the turn was aborted from elsewhere" });
    this.#settle({ type: "finished" });
  }

  /** What a tool call is answered with instead of being carried out. */
  #refusal(name: string): string | undefined {
    if (isOurs(name)) return undefined;
    if (this.#onlySegnoTools) return ONLY_SEGNO_TOOLS;
    const { handlers, readOnly, permissions } = this.#options;
    if (!this.#isAllowed(name)) {
      const why = readOnly ? "this session only judges" : `permission_mode: ${permissions} does not allow it`;
      handlers.observe({ type: "refused", tool: name, why });
      return `${name} may not be used here (${why}).`;
    }
    return this.#oursCalled ? handlers.begins(toolKind(name)) : undefined;
  }

  #isAllowed(name: string): boolean {
    const { permissions, readOnly, deniedTools, allowedTools } = this.#options;
    if (deniedTools.includes(name)) return false;
    const kind = toolKind(name);
    if (readOnly) return kind !== "edit";
    if (permissions === "all" || allowedTools.includes(name)) return true;
    if (permissions === "edits") return kind !== "shell" && kind !== "web" && kind !== "agent";
    // What its settings allow is not asked for.
    return true;
  }

  /** Nobody is there to be asked: what the level allows is allowed, this once. */
  #permissionAsked({ kind, toolCallId }: PermissionRequest): ReturnType<SessionConfig["onPermissionRequest"]> {
    const { permissions, handlers, allowedTools } = this.#options;
    const isListed = allowedTools.includes(this.#events.nameOf(toolCallId ?? ""));
    if (permissions !== "listed" || isListed) return { kind: "approve-once" };
    const why = `permission_mode: ${permissions} does not allow it`;
    handlers.observe({ type: "refused", tool: kind, why });
    return { kind: "reject", feedback: why };
  }

  #settle(end: TurnEnd): void {
    const turn = this.#turn;
    this.#turn = undefined;
    turn?.(end);
  }

  #ended(why: string): void {
    this.#gone ??= { type: "crashed", message: why };
    this.#settle(this.#gone);
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const CRASHED: TurnEnd = { type: "crashed", message: "it was not started" };
