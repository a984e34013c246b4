/** Codex's app-server: JSON lines over its standard streams, requests with ids and notifications without. */
import type { Readable, Writable } from "node:stream";

export interface Notification {
  method: string;
  params: Record<string, unknown>;
}

export class RpcError extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

interface Line {
  id?: number | string;
  method?: string;
  params?: Record<string, unknown>;
  result?: unknown;
  error?: { code: number; message: string };
}

export class Rpc {
  readonly #out: Writable;
  readonly #waiting = new Map<number, { resolve(result: unknown): void; reject(error: Error): void }>();
  #last = 0;
  #gone: Error | undefined;

  constructor(input: Readable, out: Writable, notified: (notification: Notification) => void) {
    this.#out = out;
    let rest = "";
    input.setEncoding("utf8");
    input.on("data", (data: string) => {
      rest += data;
      const lines = rest.split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line.trim() !== "") this.#take(line, notified);
    });
    out.on("error", () => {});
  }

  async request<T>(method: string, params: Record<string, unknown>): Promise<T> {
    if (this.#gone !== undefined) throw this.#gone;
    const id = ++this.#last;
    const answered = new Promise<unknown>((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    this.#write({ id, method, params });
    return (await answered) as T;
  }

  notify(method: string): void {
    this.#write({ method });
  }

  /** Nobody answers any more. */
  ended(error: Error): void {
    this.#gone ??= error;
    for (const { reject } of this.#waiting.values()) reject(this.#gone);
    this.#waiting.clear();
  }

  #write(line: Line): void {
    this.#out.write(`${JSON.stringify(line)}\n`);
  }

  #take(text: string, notified: (notification: Notification) => void): void {
    let line: Line;
    try {
      line = JSON.parse(text) as Line;
    } catch {
      return;
    }
    if (line.method !== undefined) {
      // Nobody is there to be asked: what it asks for is refused.
      if (line.id !== undefined) this.#refuse(line.id);
      else notified({ method: line.method, params: line.params ?? {} });
      return;
    }
    const waiting = this.#waiting.get(Number(line.id));
    this.#waiting.delete(Number(line.id));
    if (line.error === undefined) waiting?.resolve(line.result);
    else waiting?.reject(new RpcError(line.error.code, line.error.message));
  }

  #refuse(id: number | string): void {
    this.#out.write(`${JSON.stringify({ id, error: { code: -32601, message: "nobody is there to be asked" } })}\n`);
  }
}
