/** Segno's tools as an MCP server named `segno`, always loaded so that they never hide behind a tool search. */
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { SERVER_NAME } from "./server-name.js";
import type { SegnoTools } from "./tools.js";

/** Tools that no model sees: the agent's own hooks call them. What they answer is text. */
export type HookTools = ReadonlyMap<string, (input: Record<string, unknown>) => Promise<string>>;

export function mcpServer(tools: SegnoTools, hooks: HookTools = new Map()): Server {
  const server = new Server({ name: SERVER_NAME, version: "1" }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: [
      ...tools.list.map(({ inputSchema, ...tool }) => ({
        ...tool,
        inputSchema: { ...inputSchema, type: "object" as const },
        _meta: { "anthropic/alwaysLoad": true },
      })),
      ...[...hooks.keys()].map((name) => ({
        name,
        description: "For hooks.",
        inputSchema: { type: "object" as const },
        _meta: { ui: { visibility: [] } },
      })),
    ],
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    const hook = hooks.get(params.name);
    if (hook !== undefined) return { content: [{ type: "text" as const, text: await hook(params.arguments ?? {}) }] };
    const { text, isError } = await tools.call(params.name, params.arguments ?? {});
    return { content: [{ type: "text" as const, text }], isError };
  });
  return server;
}
