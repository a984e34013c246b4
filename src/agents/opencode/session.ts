/**
 * opencode through its server, with a plugin that asks us.
 *
 * Invariants
 * 1. A call's usage is told only when its message is over: what its tools brought is held back until then, and both are
 *    reported at the boundary, usage first.
 * 2. A boundary is decided while opencode waits for the plugin before its next call; a turn that is stopped there is
 *    aborted before the plugin gets its answer, so that no request goes out.
 * 3. What a sub-agent does has a session of its own: no boundary, and no window.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import type { StopWhy, TurnEnd } from "../../run/event.js";
import { noticed, ONLY_SEGNO_TOOLS, type SegnoTools } from "../../tools/tools.js";
import type { AgentSession, SessionOptions } from "../agent.js";
import { HOOK_TOOL } from "../hook-script.js";
import { diesWithParent, MARKER, sweep } from "../processes.js";
import { openSessionDoor, type SessionDoor } from "../session-door.js";
import { exited, settled } from "../within.js";
import { Api, ApiError, freePort } from "./api.js";
import { environment, modelOf, seedHome } from "./config.js";
import { failedEnd, retryOf } from "./errors.js";
import { type Message, MessageStream } from "./messages.js";
import { type HookAnswer, type HookInput, type Limit, writePlugin } from "./plugin.js";
import { isOurs, toolKind } from "./tools.js";

const START_MS = 90_000;
const SETTLE_MS = 3_000;
/** More than one message between two boundaries is rare. */
const NEWEST = 12;
const MOST_OUTPUT = 32_000;
const RESERVED = 20_000;

export async function openSession(options: SessionOptions, executable: string): Promise<AgentSession> {
  const session = new OpencodeSession(options);
  await session.start(executable);
  return session;
}

class OpencodeSession implements AgentSession {
  readonly #options: SessionOptions;
  readonly #messages: MessageStream;
  #child: ChildProcess | undefined;
  #api: Api | undefined;
  #door: SessionDoor | undefined;
  #folder: string | undefined;
  #id = "";
  #ready = false;
  #window = 0;
  #onlySegnoTools = false;
  #oursCalled = false;
  #stopWhy: StopWhy | undefined;
  #gaveUp: TurnEnd | undefined;
  #retries = 0;
  #gone: TurnEnd | undefined;
  #whenGone: (end: TurnEnd) => void = () => {};
  #printed = "";

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#messages = new MessageStream(options.handlers.observe);
  }

  async start(executable: string): Promise<void> {
    const { env, marker, isolated } = this.#options;
    if (isolated && env.HOME !== undefined) seedHome(env.HOME);
    const hook = async (input: Record<string, unknown>): Promise<string> =>
      JSON.stringify(await this.#hook(input as unknown as HookInput));
    this.#door = await openSessionDoor(this.#tools, new Map([[HOOK_TOOL, hook]]));
    const { folder, file } = writePlugin(this.#door);
    this.#folder = folder;
    const password = randomBytes(24).toString("base64url");
    const own = environment(this.#options, this.#door, file, password);
    try {
      const port = await this.#serve(executable, { ...env, ...own, [MARKER]: marker });
      await this.#begin(new Api(port, password));
    } catch (error) {
      this.#ended(error instanceof Error ? error.message : String(error));
    }
  }

  /** A port that was free a moment ago may be somebody else's by now: then another is tried. */
  async #serve(executable: string, env: Record<string, string>, times = 3): Promise<number> {
    const { handlers, cwd } = this.#options;
    const port = await freePort();
    const [program, leading] = diesWithParent(executable);
    const args = [...leading, "serve", "--hostname", "127.0.0.1", "--port", String(port)];
    const child = spawn(program, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
    this.#child = child;
    if (child.pid !== undefined) handlers.spawned(child.pid);
    if (!(await this.#listens(child))) {
      if (times > 1) return this.#serve(executable, env, times - 1);
      throw new Error("the agent's process ended before it listened");
    }
    if (child.exitCode !== null || child.signalCode !== null) throw new Error("the agent's process ended");
    child.on("exit", () => this.#ended("the agent's process ended"));
    return port;
  }

  /** Whether it came to listen; a request that comes earlier is never answered. */
  #listens(child: ChildProcess): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error("it does not listen")), START_MS);
      const over = (listens: boolean): void => {
        clearTimeout(timer);
        resolve(listens);
      };
      const heard = (data: Buffer): void => {
        this.#printed = (this.#printed + data.toString()).slice(-4_000);
        if (/listening on http/.test(this.#printed)) over(true);
      };
      child.stdout?.on("data", heard);
      child.stderr?.on("data", heard);
      child.once("error", (error) => {
        clearTimeout(timer);
        reject(error);
      });
      child.once("exit", () => over(false));
    });
  }

  async #begin(api: Api): Promise<void> {
    const { resume } = this.#options;
    api.events((event) => this.#told(event));
    if (resume === undefined) this.#id = (await api.post<{ id: string }>("/session", { title: "Segno" })).id;
    else {
      this.#id = (await api.get<{ id: string }>(`/session/${resume}`)).id;
      this.#messages.skip(await api.get<Message[]>(`/session/${resume}/message`));
    }
    this.#api = api;
    const named = modelOf(this.#options)?.modelID ?? (await api.get<{ model?: string }>("/config")).model;
    if (named !== undefined) this.#readyWith(named.split("/").at(-1) ?? named);
  }

  /** Where no model is named, the first call tells it. */
  #readyWith(model: string): void {
    if (this.#ready) return;
    this.#ready = true;
    this.#options.handlers.observe({ type: "ready", agentSession: this.#id, model });
  }

  async send(prompt: string, { onlySegnoTools } = { onlySegnoTools: false }): Promise<TurnEnd> {
    const api = this.#api;
    if (this.#gone !== undefined || api === undefined) return this.#gone ?? CRASHED;
    this.#onlySegnoTools = onlySegnoTools;
    this.#oursCalled = false;
    this.#stopWhy = undefined;
    this.#gaveUp = undefined;
    this.#retries = 0;
    this.#messages.tools = 0;
    this.#messages.prompted(prompt);
    const gone = new Promise<TurnEnd>((resolve) => {
      this.#whenGone = resolve;
    });
    const model = modelOf(this.#options);
    const body = { parts: [{ type: "text", text: prompt }], ...(model === undefined ? {} : { model }) };
    const answered = api.post<Message>(`/session/${this.#id}/message`, body).then(
      (message) => this.#turnOver(message),
      (error: unknown) => this.#requestFailed(error),
    );
    return Promise.race([answered, gone]);
  }

  async close(): Promise<number> {
    const child = this.#child;
    child?.kill("SIGTERM");
    await exited(SETTLE_MS, child);
    const swept = await sweep((marker) => marker === this.#options.marker);
    await this.#door?.close();
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
    return swept;
  }

  get #tools(): SegnoTools {
    return noticed(this.#options.tools, () => {
      this.#oursCalled = true;
    });
  }

  async #hook(given: HookInput): Promise<HookAnswer> {
    const isOwn = given.session === this.#id;
    switch (given.at) {
      case "before":
        if (isOwn) await this.#beforeCall(given.model);
        return {};
      case "tool":
        return this.#beforeTool(given, isOwn);
      case "tool-over":
        this.#options.handlers.observe({ type: "alive" });
        return {};
      default:
        return {};
    }
  }

  async #beforeCall({ id, limit }: { id: string; limit?: Limit }): Promise<void> {
    this.#readyWith(id);
    this.#windowTold(limit ?? {});
    await this.#report();
    if (this.#messages.tools === 0) return;
    this.#messages.tools = 0;
    this.#oursCalled = false;
    const decision = await this.#options.handlers.boundary();
    if (!decision.stop) return;
    this.#stopWhy = decision.why;
    await this.#abort();
  }

  async #abort(): Promise<void> {
    const aborted = this.#api?.post(`/session/${this.#id}/abort`).catch(() => {});
    await settled(SETTLE_MS, aborted);
  }

  /** Everything that is over and was not reported. */
  async #report(): Promise<void> {
    const api = this.#api;
    if (api === undefined) return;
    const newest = await api.get<Message[]>(`/session/${this.#id}/message?limit=${NEWEST}`).catch(() => []);
    for (const subagent of this.#messages.take(newest))
      this.#messages.takeSubagent(await api.get<Message[]>(`/session/${subagent}/message`).catch(() => []));
  }

  #beforeTool({ name, id }: Extract<HookInput, { at: "tool" }>, isOwn: boolean): HookAnswer {
    const { handlers } = this.#options;
    const refusal = this.#refusal(name) ?? (isOwn && this.#between(name) ? handlers.begins(toolKind(name)) : undefined);
    if (refusal === undefined && isOwn) handlers.observe({ type: "tool-started", id });
    return { refusal };
  }

  /** Only after one of ours is there anything to ask: a task may just have been reported. */
  #between = (name: string): boolean => this.#oursCalled && !isOurs(name);

  /** What a tool call is answered with instead of being carried out. */
  #refusal(name: string): string | undefined {
    if (isOurs(name)) return undefined;
    if (this.#onlySegnoTools) return ONLY_SEGNO_TOOLS;
    if (this.#isAllowed(name)) return undefined;
    const why = this.#options.readOnly
      ? "this session only judges"
      : `permission_mode: ${this.#options.permissions} does not allow it`;
    this.#options.handlers.observe({ type: "refused", tool: name, why });
    return `${name} may not be used here (${why}).`;
  }

  #isAllowed(name: string): boolean {
    const { permissions, readOnly, deniedTools, allowedTools } = this.#options;
    if (deniedTools.includes(name)) return false;
    const kind = toolKind(name);
    if (readOnly) return kind !== "edit";
    if (permissions !== "edits" || allowedTools.includes(name)) return true;
    return kind !== "shell" && kind !== "web" && kind !== "agent";
  }

  #told({ type, properties = {} }: { type?: string; properties?: Record<string, unknown> }): void {
    // Its server tells of itself, and of files, also while the model hangs.
    if (/^(message|session|permission)\./.test(type ?? "")) this.#options.handlers.observe({ type: "alive" });
    if (type === "permission.asked") return this.#permissionAsked(properties as unknown as PermissionAsked);
    if (properties.sessionID !== this.#id || type !== "session.status") return;
    const { status } = properties as unknown as { status: RetryStatus };
    if (status.type !== "retry") return;
    const { kind, end } = retryOf(status, Date.now());
    const retry = { attempt: Math.max(status.attempt ?? 0, ++this.#retries), kind, message: status.message ?? "" };
    if (this.#gaveUp !== undefined || !this.#options.handlers.givesUp(retry)) return;
    this.#gaveUp = end;
    void this.#abort();
  }

  /** Nobody is there to be asked: what the level allows is allowed, this once. */
  #permissionAsked({ id, permission }: PermissionAsked): void {
    const { permissions, handlers } = this.#options;
    const allowed = permissions !== "listed" && this.#isAllowed(permission === "edit" ? "edit" : permission);
    if (!allowed)
      handlers.observe({ type: "refused", tool: permission, why: `permission_mode: ${permissions} does not allow it` });
    this.#api?.post(`/permission/${id}/reply`, { reply: allowed ? "once" : "reject" }).catch(() => {});
  }

  #windowTold({ context = 0, input, output = MOST_OUTPUT }: Limit): void {
    if (context === 0 || context === this.#window) return;
    this.#window = context;
    const most = Math.min(output, MOST_OUTPUT);
    const usable = input === undefined ? context - most : input - Math.min(RESERVED, most);
    const compactAt = this.#options.compacts ? Math.max(0, usable) : undefined;
    this.#options.handlers.observe({ type: "window", window: input ?? context, compactAt });
  }

  async #turnOver(message: Message | undefined): Promise<TurnEnd> {
    await this.#report();
    if (this.#gone !== undefined) return this.#gone;
    if (this.#gaveUp !== undefined) return this.#gaveUp;
    if (this.#stopWhy !== undefined) return { type: "stopped", why: this.#stopWhy };
    const error = message?.info.error;
    if (error?.name === "MessageAbortedError")
      return { type: "failed", kind: "other", message: "the turn was aborted from elsewhere" };
    return error === undefined ? { type: "finished" } : failedEnd(error, Date.now());
  }

  #requestFailed(error: unknown): TurnEnd {
    if (this.#gone !== undefined) return this.#gone;
    if (error instanceof ApiError)
      return failedEnd({ name: "APIError", data: { message: error.message, statusCode: error.status } }, Date.now());
    return { type: "crashed", message: error instanceof Error ? error.message : String(error) };
  }

  #ended(why: string): void {
    const said = this.#printed.trim().split("\n").at(-1) ?? "";
    this.#gone ??= { type: "crashed", message: said === "" ? why : `${why}\n${said}` };
    this.#whenGone(this.#gone);
  }
}

const CRASHED: TurnEnd = { type: "crashed", message: "it was not started" };

interface PermissionAsked {
  id: string;
  permission: string;
}

interface RetryStatus {
  type: string;
  attempt?: number;
  message?: string;
  next?: number;
}
