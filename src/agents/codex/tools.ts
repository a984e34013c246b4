/** Codex's names for tools, and what they are. */

import type { ContentKind } from "../../context/ratios.js";
import type { ToolKind } from "../../run/event.js";
import { SERVER_NAME } from "../../tools/server-name.js";
import type { ToolName } from "../../tools/tools.js";
import { contentKindOf } from "../content-kinds.js";

/** As its hooks call them. Its models see them in a namespace of that name. */
export const NAMESPACE = `mcp__${SERVER_NAME}`;
const PREFIX = `${NAMESPACE}__`;

export const toolName = (tool: ToolName): string => PREFIX + tool;

export const isOurs = (name: string): boolean => name.startsWith(PREFIX);

export const plainName = (name: string): string => (isOurs(name) ? name.slice(PREFIX.length) : name);

export const SHELL = "Bash";
export const PATCH = "apply_patch";

export function toolKind(name: string): ToolKind {
  if (isOurs(name)) return "segno";
  if (name === SHELL) return "shell";
  if (name === PATCH || name === "Edit" || name === "Write") return "edit";
  if (/^(web_search|WebSearch)$/.test(name)) return "web";
  return "other";
}

/** What a tool's result is to the meter. */
export const contentKind = (name: string): ContentKind =>
  name.startsWith("mcp__") ? "mcp" : contentKindOf(toolKind(name));
