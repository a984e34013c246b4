/** Claude Code's names for tools, and what they are. */
import type { ContentKind } from "../../context/ratios.js";
import type { ToolKind } from "../../run/event.js";
import { SERVER_NAME } from "../../tools/server-name.js";
import type { ToolName } from "../../tools/tools.js";

const PREFIX = `mcp__${SERVER_NAME}__`;

export const toolName = (tool: ToolName): string => PREFIX + tool;

export const isOurs = (name: string): boolean => name.startsWith(PREFIX);

/** As a person would call it. */
export const plainName = (name: string): string => (isOurs(name) ? name.slice(PREFIX.length) : name);

/** What changes files; a session that only judges may not use them. */
export const EDITING = ["Edit", "Write", "MultiEdit", "NotebookEdit"];

const TOOLS: Record<string, [ToolKind, ContentKind]> = {
  Read: ["read", "read"],
  NotebookRead: ["read", "read"],
  Bash: ["shell", "bash"],
  BashOutput: ["shell", "bash"],
  Grep: ["search", "grep"],
  Glob: ["search", "grep"],
  LS: ["search", "grep"],
  Edit: ["edit", "edit"],
  MultiEdit: ["edit", "edit"],
  Write: ["edit", "edit"],
  NotebookEdit: ["edit", "edit"],
  Agent: ["agent", "agent"],
  Task: ["agent", "agent"],
  WebFetch: ["web", "web"],
  WebSearch: ["web", "web"],
};

export const toolKind = (name: string): ToolKind => (isOurs(name) ? "segno" : (TOOLS[name]?.[0] ?? "other"));

/** What a tool's result is to the meter. */
export const contentKind = (name: string): ContentKind =>
  name.startsWith("mcp__") ? "mcp" : (TOOLS[name]?.[1] ?? "other");
