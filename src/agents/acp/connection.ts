/**
 * An ACP agent's process and the connection over its standard streams.
 *
 * What it tells is taken here as it is and in its order, before the protocol's library sees it: one odd update must not cost
 * the rest, and an answer must not overtake what was told before it.
 */

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import {
  type AnyMessage,
  type ClientConnection,
  client,
  ndJsonStream,
  RequestError,
  type Stream,
} from "@agentclientprotocol/sdk";
import { isObject } from "../is-object.js";
import { diesWithParent } from "../processes.js";
import { exited } from "../within.js";
import type { AcpError } from "./errors.js";
import type { PermissionAnswer } from "./permission.js";

export interface Heard {
  updated(session: unknown, update: unknown): void;
  asked(session: unknown, toolCall: unknown, options: unknown): PermissionAnswer;
}

const SETTLE_MS = 2_000;
const LAST_WORDS = 4_000;
const LAST_WORDS_MS = 500;

export class Connection {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #connection: ClientConnection;
  /** Its process is gone, or its stream is, and why. */
  readonly over: Promise<string>;
  #stderr = "";

  constructor(command: readonly string[], cwd: string, env: Record<string, string>, heard: Heard) {
    const [name = "", ...args] = command;
    const [program, leading] = diesWithParent(name);
    const child = spawn(program, [...leading, ...args], { cwd, env, stdio: "pipe", detached: true });
    this.#child = child;
    child.stdin.on("error", () => {});
    child.stderr.on("data", (data: Buffer) => {
      this.#stderr = (this.#stderr + data.toString()).slice(-LAST_WORDS);
    });
    const stream = ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
    this.#connection = client()
      .onRequest("session/request_permission", objectIn, ({ params }) =>
        heard.asked(params.sessionId, params.toolCall, params.options),
      )
      .connect(withoutNotifications(stream, heard));
    const { closed } = this.#connection;
    this.over = new Promise((resolve) => {
      child.on("error", (error) => resolve(error.message));
      // What it printed last may come after it is gone.
      const gone = (): void => resolve("the agent's process ended");
      child.on("close", gone);
      child.on("exit", () => setTimeout(gone, LAST_WORDS_MS));
      closed.then(() => setTimeout(resolve, 2 * LAST_WORDS_MS, "it closed its stream"));
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Whether nothing it says will be heard. */
  get isClosed(): boolean {
    return this.#connection.signal.aborted;
  }

  /** What it printed last. */
  get lastWords(): string {
    return this.#stderr.trim().split("\n").at(-1) ?? "";
  }

  async request(method: string, params: Record<string, unknown>): Promise<Record<string, unknown>> {
    const answer = await this.#connection.agent.request<unknown, Record<string, unknown>>(method, params);
    return isObject(answer) ? answer : {};
  }

  async notify(method: string, params: Record<string, unknown>): Promise<void> {
    await this.#connection.agent.notify(method, params).catch(() => {});
  }

  /** Ends its input, and waits a moment for it to end by itself. */
  async end(): Promise<void> {
    const child = this.#child;
    child.stdin.end();
    await exited(SETTLE_MS, child);
    this.#connection.close();
  }
}

/** The stream as far as it is requests, and answers to what was asked. */
function withoutNotifications({ readable, writable }: Stream, heard: Heard): Stream {
  const asked = new Set<unknown>();
  const out = new TransformStream<AnyMessage, AnyMessage>({
    transform(message, controller) {
      if (isRequest(message)) asked.add(message.id);
      controller.enqueue(message);
    },
  });
  const incoming = new TransformStream<AnyMessage, AnyMessage>({
    transform(message, controller) {
      if ("method" in message && !("id" in message)) {
        const params = objectIn(message.params);
        if (message.method === "session/update") heard.updated(params.sessionId, params.update);
      } else if ("method" in message || ("id" in message && asked.delete(message.id))) controller.enqueue(message);
    },
  });
  out.readable.pipeTo(writable).catch(() => {});
  return { readable: readable.pipeThrough(incoming), writable: out.writable };
}

const isRequest = (message: AnyMessage): message is AnyMessage & { id: unknown } =>
  "method" in message && "id" in message;

const objectIn = (params: unknown): Record<string, unknown> => (isObject(params) ? params : {});

export const errorOf = (error: unknown): AcpError =>
  error instanceof RequestError
    ? { code: error.code, message: error.message, data: error.data }
    : { message: error instanceof Error ? error.message : String(error) };
