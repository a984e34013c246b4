/**
 * Segno's tools for one session over MCP on loopback HTTP, and beside them tools for the agent's hooks. For agents that are
 * programs of their own: whoever has no token is refused.
 */
import { randomBytes, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import type { HookTools } from "../tools/mcp.js";
import { serveMcp } from "../tools/mcp-http.js";
import type { SegnoTools } from "../tools/tools.js";

export interface SessionDoor {
  url: string;
  token: string;
  close(): Promise<void>;
}

export async function openSessionDoor(tools: SegnoTools, hooks: HookTools): Promise<SessionDoor> {
  const token = randomBytes(24).toString("base64url");
  const server = createServer((request, response) => {
    answer(request, response, token, tools, hooks).catch(() => {
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  });
  // A hook may wait for a decision as long as it takes.
  server.requestTimeout = 0;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    token,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  token: string,
  tools: SegnoTools,
  hooks: HookTools,
): Promise<void> {
  if (!isToken(request.headers.authorization, token)) {
    response.writeHead(401).end();
    return;
  }
  if (request.method !== "POST") {
    response.writeHead(405).end();
    return;
  }
  const headers = Object.entries(request.headers).flatMap(([name, value]): [string, string][] =>
    typeof value === "string" ? [[name, value]] : [],
  );
  const asked = new Request(`http://127.0.0.1${request.url ?? "/"}`, {
    method: "POST",
    headers,
    body: new Uint8Array(await buffer(request)),
  });
  const said = await serveMcp(tools, asked, hooks);
  response.writeHead(said.status, Object.fromEntries(said.headers));
  response.end(Buffer.from(await said.arrayBuffer()));
}

function isToken(given: string | undefined, token: string): boolean {
  const [said, wanted] = [Buffer.from(given ?? ""), Buffer.from(`Bearer ${token}`)];
  return said.length === wanted.length && timingSafeEqual(said, wanted);
}
