/** The same tools over HTTP, one request at a time: for agents that are not in this process. */
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { type HookTools, mcpServer } from "./mcp.js";
import type { SegnoTools } from "./tools.js";

/** Whoever calls has made sure who is asking. Nothing is remembered between requests: the session is in the token. */
export async function serveMcp(tools: SegnoTools, request: Request, hooks?: HookTools): Promise<Response> {
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  const server = mcpServer(tools, hooks);
  await server.connect(transport);
  return transport.handleRequest(request);
}
