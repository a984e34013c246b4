/**
 * A session of an agent that speaks the Agent Client Protocol, version 1.
 *
 * Invariants
 * 1. One prompt is in flight at a time; what is told of another session, or by a name nobody knows, changes nothing.
 * 2. A boundary is decided when no tool runs and none was begun for a moment: the protocol says nothing of model calls. A
 *    turn is stopped by cancelling it. An agent that does not heed that is ended.
 * 3. Whatever it sends, `send` ends with a value.
 */

import type { StopWhy, TurnEnd } from "../../run/event.js";
import { SERVER_NAME } from "../../tools/server-name.js";
import type { AgentSession, SessionOptions } from "../agent.js";
import { isObject } from "../is-object.js";
import { MARKER, sweep } from "../processes.js";
import { openSessionDoor, type SessionDoor } from "../session-door.js";
import { within } from "../within.js";
import { Connection, errorOf } from "./connection.js";
import { failedEnd } from "./errors.js";
import { answerFor, isAllowed, type PermissionAnswer } from "./permission.js";
import { nameOf } from "./tools.js";
import { type AgentRecord, Updates } from "./updates.js";

const PROTOCOL = 1;
const START_MS = 60_000;
/** Another tool of the same message is announced within this, or there is none. */
const SETTLE_MS = 100;
const CANCEL_MS = 5_000;
const NOBODY: TurnEnd = { type: "crashed", message: "it was not started" };

/** How an agent is started, and what is known of it beside the protocol. */
export interface Recipe {
  command: readonly string[];
  /** The model that its command names. */
  model?: string | undefined;
  /** What it writes down; it asks `beforeCall` before each call, then. */
  record?: AgentRecord;
  /** What was set up for it is taken away. */
  close?: () => Promise<void>;
}

export const openSession = (options: SessionOptions, command: readonly string[]): Promise<AgentSession> =>
  openAcpSession(options, { command });

export async function openAcpSession(options: SessionOptions, recipe: Recipe): Promise<AcpSession> {
  const session = new AcpSession(options, recipe);
  await session.start();
  return session;
}

class AcpSession implements AgentSession {
  readonly #options: SessionOptions;
  readonly #recipe: Recipe;
  readonly #updates: Updates;
  #connection: Connection | undefined;
  #door: SessionDoor | undefined;
  #id = "";
  #gone: TurnEnd | undefined;
  /** Why nothing can be asked of it, although it lives. */
  #unusable: TurnEnd | undefined;
  #turn: ((end: TurnEnd) => void) | undefined;
  #onlySegnoTools = false;
  #stopWhy: StopWhy | undefined;
  #settling: NodeJS.Timeout | undefined;

  constructor(options: SessionOptions, recipe: Recipe) {
    this.#options = options;
    this.#recipe = recipe;
    this.#updates = new Updates(options.handlers.observe, recipe.record);
  }

  async start(): Promise<void> {
    const { cwd, env, marker, tools, handlers } = this.#options;
    this.#door = await openSessionDoor(tools, new Map());
    const connection = new Connection(
      this.#recipe.command,
      cwd,
      { ...env, [MARKER]: marker },
      {
        updated: (session, update) => this.#updated(session, update),
        asked: (session, call, options) => this.#permissionAsked(session, call, options),
      },
    );
    this.#connection = connection;
    connection.over.then((why) => this.#ended(why));
    if (connection.pid !== undefined) handlers.spawned(connection.pid);
    try {
      await within(START_MS, this.#begin(connection, this.#door));
    } catch (error) {
      if (connection.isClosed) this.#ended(await connection.over);
      else this.#unusable = failedEnd(errorOf(error), Date.now());
    }
  }

  async #begin(connection: Connection, { url, token }: SessionDoor): Promise<void> {
    const { cwd, model } = this.#options;
    const told = await connection.request("initialize", {
      protocolVersion: PROTOCOL,
      clientInfo: { name: SERVER_NAME, title: "Segno", version: "1" },
      // It reads, writes and runs by itself: nothing of that goes through us.
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
    });
    const lack = lackIn(told);
    if (lack !== undefined) throw new Error(lack);
    const headers = [{ name: "Authorization", value: `Bearer ${token}` }];
    const mcpServers = [{ type: "http", name: SERVER_NAME, url, headers }];
    const { resume } = this.#options;
    const made =
      resume === undefined
        ? await connection.request("session/new", { cwd, mcpServers })
        : { ...(await connection.request("session/load", { sessionId: resume, cwd, mcpServers })), sessionId: resume };
    if (typeof made.sessionId !== "string") throw new Error("it opened no session");
    this.#id = made.sessionId;
    const used = this.#recipe.model ?? (await this.#chooseModel(connection, made, model));
    this.#updates.model = used;
    this.#options.handlers.observe({ type: "ready", agentSession: this.#id, model: used });
  }

  /** The model that it will use, as it calls it; a model that was asked for and is not offered is an error. */
  async #chooseModel(
    connection: Connection,
    { configOptions: offered, models }: Record<string, unknown>,
    asked: string | undefined,
  ): Promise<string> {
    const named = isObject(models) && typeof models.currentModelId === "string" ? models.currentModelId : "unknown";
    const option = (Array.isArray(offered) ? offered : [])
      .filter(isObject)
      .find(({ category, id }) => category === "model" || id === "model");
    const current = typeof option?.currentValue === "string" ? option.currentValue : named;
    if (asked === undefined || asked === current) return current;
    if (option === undefined) throw new Error(`unknown model ${asked}: it lets nobody choose one`);
    await connection.request("session/set_config_option", {
      sessionId: this.#id,
      configId: option.id,
      value: asked,
    });
    return asked;
  }

  async send(prompt: string, { onlySegnoTools } = { onlySegnoTools: false }): Promise<TurnEnd> {
    const connection = this.#connection;
    if (this.#gone !== undefined || connection === undefined) return this.#gone ?? NOBODY;
    if (this.#unusable !== undefined) return this.#unusable;
    this.#onlySegnoTools = onlySegnoTools;
    this.#stopWhy = undefined;
    this.#gaveUp = undefined;
    this.#asked = 0;
    this.#updates.prompted(prompt);
    const over = new Promise<TurnEnd>((resolve) => {
      this.#turn = resolve;
    });
    connection.request("session/prompt", { sessionId: this.#id, prompt: [{ type: "text", text: prompt }] }).then(
      ({ stopReason }) => this.#answered(stopReason),
      (error: unknown) => {
        if (!connection.isClosed) this.#answeredWith(failedEnd(errorOf(error), Date.now()));
      },
    );
    const end = await over;
    clearTimeout(this.#settling);
    return end;
  }

  async close(): Promise<number> {
    clearTimeout(this.#settling);
    await this.#connection?.end();
    const swept = await sweep((marker) => marker === this.#options.marker);
    await this.#door?.close();
    await this.#recipe.close?.();
    return swept;
  }

  /** For an agent that asks before each model call: whether it may be made. */
  async beforeCall(): Promise<boolean> {
    if (this.#turn === undefined) return true;
    this.#updates.flush();
    const isRetry = this.#asked > 0 && this.#updates.calls === this.#callsAsked;
    this.#retries = isRetry ? this.#retries + 1 : 0;
    this.#asked++;
    this.#callsAsked = this.#updates.calls;
    if (isRetry && this.#givesUp()) return false;
    if (this.#updates.tools === 0) return true;
    this.#updates.tools = 0;
    const decision = await this.#options.handlers.boundary();
    if (!decision.stop) return true;
    this.#stopWhy = decision.why;
    return false;
  }
  #asked = 0;
  #callsAsked = 0;
  #retries = 0;

  #givesUp(): boolean {
    const message = "the model did not answer";
    if (!this.#options.handlers.givesUp({ attempt: this.#retries, kind: "api", message })) return false;
    this.#gaveUp = { type: "failed", kind: "api", message };
    return true;
  }
  #gaveUp: TurnEnd | undefined;

  #updated(session: unknown, update: unknown): void {
    this.#options.handlers.observe({ type: "alive" });
    if (session !== this.#id || this.#turn === undefined) return;
    this.#updates.take(update);
    clearTimeout(this.#settling);
    if (this.#recipe.record !== undefined) return;
    if (this.#updates.tools > 0 && !this.#updates.isWorking && this.#stopWhy === undefined)
      this.#settling = setTimeout(() => void this.#boundary(), SETTLE_MS);
  }

  async #boundary(): Promise<void> {
    const turn = this.#turn;
    this.#updates.tools = 0;
    const decision = await this.#options.handlers.boundary();
    if (!decision.stop || this.#turn !== turn || turn === undefined) return;
    this.#stopWhy = decision.why;
    await this.#connection?.notify("session/cancel", { sessionId: this.#id });
    const unheeded = setTimeout(() => {
      if (this.#turn !== turn) return;
      this.#gone ??= { type: "crashed", message: "it did not stop when it was told to, and was ended" };
      this.#settle({ type: "stopped", why: decision.why });
    }, CANCEL_MS);
    unheeded.unref();
  }

  /** Nobody is there to be asked: the level answers. */
  #permissionAsked(session: unknown, toolCall: unknown, options: unknown): PermissionAnswer {
    const { handlers, permissions, readOnly } = this.#options;
    handlers.observe({ type: "alive" });
    if (session !== this.#id || this.#stopWhy !== undefined) return { outcome: { outcome: "cancelled" } };
    const call = this.#updates.known(isObject(toolCall) ? toolCall : {});
    const allowed = isAllowed(call, this.#options, this.#onlySegnoTools);
    if (!allowed && !this.#onlySegnoTools) {
      const why = readOnly ? "this session only judges" : `permission_mode: ${permissions} does not allow it`;
      handlers.observe({ type: "refused", tool: nameOf(call), why });
    }
    // One that keeps a record tells of a tool only when it has ended.
    if (allowed && this.#recipe.record !== undefined) handlers.observe({ type: "tool-started", id: call.toolCallId });
    return answerFor(options, allowed);
  }

  #answered(reason: unknown): void {
    switch (reason) {
      case "end_turn":
        return this.#answeredWith(
          this.#updates.acted
            ? { type: "finished" }
            : { type: "failed", kind: "api", message: "it ended its turn without a word" },
        );
      case "cancelled":
        return this.#answeredWith({ type: "failed", kind: "other", message: "the turn was cancelled from elsewhere" });
      case "max_turn_requests":
        // As far as it goes in one turn: the work is not over, and nothing is wrong.
        return this.#answeredWith({ type: "finished" });
      case "max_tokens":
        return this.#answeredWith({ type: "too-long" });
      case "refusal":
        return this.#answeredWith({ type: "failed", kind: "request", message: "the model refused to go on" });
      default:
        return this.#answeredWith({ type: "failed", kind: "other", message: `it stopped: ${String(reason)}` });
    }
  }

  /** A turn that we stopped is stopped, whatever it says of it. */
  #answeredWith(end: TurnEnd): void {
    this.#updates.flush();
    this.#settle(this.#stopWhy === undefined ? (this.#gaveUp ?? end) : { type: "stopped", why: this.#stopWhy });
  }

  #settle(end: TurnEnd): void {
    const turn = this.#turn;
    this.#turn = undefined;
    turn?.(end);
  }

  #ended(why: string): void {
    const said = this.#connection?.lastWords ?? "";
    this.#gone ??= { type: "crashed", message: said === "" ? why : `${why}\n${said}` };
    this.#settle(this.#gone);
  }
}

/** What it must be able to do, and cannot. */
export function lackIn({ protocolVersion, agentCapabilities }: Record<string, unknown>): string | undefined {
  if (protocolVersion !== PROTOCOL)
    return `it speaks version ${String(protocolVersion)} of the protocol, not ${PROTOCOL}`;
  const { mcpCapabilities } = isObject(agentCapabilities) ? agentCapabilities : {};
  if (!isObject(mcpCapabilities) || mcpCapabilities.http !== true)
    return "it takes no tools over HTTP (mcpCapabilities.http), so Segno's cannot reach it";
  return undefined;
}
