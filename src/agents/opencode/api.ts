/** opencode's server: its process says where it listens, and then it is asked over HTTP. */
import { type IncomingMessage, request } from "node:http";
import { type AddressInfo, createServer } from "node:net";

/** It takes no port 0. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

export class Api {
  readonly #port: number;
  readonly #authorization: string;

  constructor(port: number, password: string) {
    this.#port = port;
    this.#authorization = `Basic ${Buffer.from(`opencode:${password}`).toString("base64")}`;
  }

  get = <T>(path: string): Promise<T> => this.#ask<T>("GET", path);
  post = <T>(path: string, body: unknown = {}): Promise<T> => this.#ask<T>("POST", path, body);

  /** Each event that it tells, until it ends. */
  events(told: (event: { type?: string; properties?: Record<string, unknown> }) => void): void {
    const asked = this.#open("GET", "/event", (response) => {
      let rest = "";
      response.setEncoding("utf8");
      response.on("error", () => {});
      response.on("data", (data: string) => {
        rest += data;
        const lines = rest.split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) {
          if (!line.startsWith("data: ")) continue;
          try {
            told(JSON.parse(line.slice(6)));
          } catch {
            // Half a line of a server that is ending.
          }
        }
      });
    });
    asked.on("error", () => {});
    asked.end();
  }

  #open(method: string, path: string, answered: (response: IncomingMessage) => void) {
    const headers = { authorization: this.#authorization, "content-type": "application/json" };
    return request({ host: "127.0.0.1", port: this.#port, method, path, headers }, answered);
  }

  #ask<T>(method: string, path: string, body?: unknown): Promise<T> {
    return new Promise((resolve, reject) => {
      const asked = this.#open(method, path, (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("error", reject);
        response.on("data", (data: string) => {
          text += data;
        });
        response.on("end", () => {
          const status = response.statusCode ?? 0;
          if (status >= 400) reject(new ApiError(status, text.slice(0, 1_000)));
          else
            try {
              resolve((text === "" ? undefined : JSON.parse(text)) as T);
            } catch {
              reject(new ApiError(status, "it answered something that is no JSON"));
            }
        });
      });
      asked.on("error", reject);
      if (body !== undefined) asked.write(JSON.stringify(body));
      asked.end();
    });
  }
}
