/** opencode's names for tools, and what they are. */

import type { ContentKind } from "../../context/ratios.js";
import type { ToolKind } from "../../run/event.js";
import { SERVER_NAME } from "../../tools/server-name.js";
import type { ToolName } from "../../tools/tools.js";
import { contentKindOf } from "../content-kinds.js";

const PREFIX = `${SERVER_NAME}_`;

export const toolName = (tool: ToolName): string => PREFIX + tool;

export const isOurs = (name: string): boolean => name.startsWith(PREFIX);

export const plainName = (name: string): string => (isOurs(name) ? name.slice(PREFIX.length) : name);

/** The tool that starts sub-agents. */
export const TASK = "task";

const KINDS: Record<string, ToolKind> = {
  bash: "shell",
  edit: "edit",
  write: "edit",
  patch: "edit",
  apply_patch: "edit",
  multiedit: "edit",
  read: "read",
  list: "read",
  glob: "search",
  grep: "search",
  codesearch: "search",
  webfetch: "web",
  websearch: "web",
  [TASK]: "agent",
};

export const toolKind = (name: string): ToolKind => (isOurs(name) ? "segno" : (KINDS[name] ?? "other"));

/** What a tool's result is to the meter. */
export const contentKind = (name: string): ContentKind => contentKindOf(toolKind(name));
