/** What Codex is started with: our tools, the hooks that ask us, and nothing that goes on when we think it is idle. */

import { SERVER_NAME } from "../../tools/server-name.js";
import type { PermissionLevel, SessionOptions } from "../agent.js";
import type { SessionDoor } from "../session-door.js";
import { NAMESPACE } from "./tools.js";

export const HOOK_TOOL = "hook";
export const TOKEN_VARIABLE = "SEGNO_MCP_TOKEN";

/** Where each hook's facts are taken from. */
const HOOKS: [string, Record<string, string>][] = [
  ["PreModelRequest", { at: "before" }],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: Codex fills them in.
  ["PostModelRequest", { at: "after", usage: "${token_usage}", status: "${status}", error: "${error}" }],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: Codex fills them in.
  ["PreToolUse", { at: "tool", name: "${tool_name}", id: "${tool_use_id}", input: "${tool_input}" }],
  ["PreCompact", { at: "compact" }],
];

/** Never compacted by itself: more than any window holds. */
const NEVER = 9_000_000_000;
const REHEARSAL = "segno_rehearsal";

/** `-c key=value`, in TOML. */
export function configArguments(options: SessionOptions, { url }: SessionDoor): string[] {
  const pairs: [string, unknown][] = [
    // In a sandbox it would ask before it calls them, and nobody is there to be asked.
    [
      `mcp_servers.${SERVER_NAME}`,
      { url, bearer_token_env_var: TOKEN_VARIABLE, required: true, default_tools_approval_mode: "approve" },
    ],
    ...HOOKS.map(([event, input]): [string, unknown] => [
      `hooks.${event}`,
      [{ hooks: [{ type: "mcp_tool", server: SERVER_NAME, tool: HOOK_TOOL, input }] }],
    ]),
    ["agents.enabled", false],
    ...["goals", "apps", "plugins", "sleep_tool", "unbounded_connection_retries"].map((name): [string, unknown] => [
      `features.${name}`,
      false,
    ]),
    ["features.code_mode.direct_only_tool_namespaces", [NAMESPACE]],
    ["analytics.enabled", false],
    ...(options.compacts ? [] : [["model_auto_compact_token_limit", NEVER] as [string, unknown]]),
    ...(options.isolated ? rehearsed(options.env) : []),
  ];
  return pairs.flatMap(([key, value]) => ["-c", `${key}=${toml(value)}`]);
}

/** The model on loopback, in place of whatever the user has. */
function rehearsed(env: Readonly<Record<string, string>>): [string, unknown][] {
  return [
    ["model_provider", REHEARSAL],
    [
      `model_providers.${REHEARSAL}`,
      {
        name: REHEARSAL,
        base_url: env.OPENAI_BASE_URL ?? "http://127.0.0.1:9/v1",
        wire_api: "responses",
        env_key: "OPENAI_API_KEY",
        supports_websockets: false,
        request_max_retries: 1,
        stream_max_retries: 1,
      },
    ],
    ["model_context_window", 200_000],
    ["web_search", "disabled"],
  ];
}

/** Undefined: its own default. A rehearsal must not name one that it knows: it would speak to it in another way. */
export const modelOf = ({ model, isolated }: SessionOptions): string | undefined =>
  model ?? (isolated ? "stand-in" : undefined);

function toml(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toml).join(",")}]`;
  if (typeof value === "object" && value !== null)
    return `{${Object.entries(value)
      .map(([key, inner]) => `${key}=${toml(inner)}`)
      .join(",")}}`;
  return JSON.stringify(value);
}

/** What it may touch. Nobody is asked: what the sandbox forbids fails, what the level forbids our hook refuses. */
export function sandboxOf({ permissions, readOnly, sandbox }: SessionOptions): string {
  if (readOnly) return "read-only";
  return permissions === "all" && !sandbox ? "danger-full-access" : "workspace-write";
}

/** Whether the level lets it run commands. `auto`: as far as its own sandbox lets it. */
export const runsCommands = (level: PermissionLevel): boolean => level === "all" || level === "auto";
