/** Copilot's names for tools, and what they are. */

import type { ContentKind } from "../../context/ratios.js";
import type { ToolKind } from "../../run/event.js";
import { SERVER_NAME } from "../../tools/server-name.js";
import type { ToolName } from "../../tools/tools.js";
import { contentKindOf } from "../content-kinds.js";

const PREFIX = `${SERVER_NAME}_`;

export const toolName = (tool: ToolName): string => PREFIX + tool;

export const isOurs = (name: string): boolean => name.startsWith(PREFIX);

export const plainName = (name: string): string => (isOurs(name) ? name.slice(PREFIX.length) : name);

const KINDS: Record<string, ToolKind> = {
  bash: "shell",
  read_bash: "shell",
  write_bash: "shell",
  stop_bash: "shell",
  list_bash: "shell",
  create: "edit",
  edit: "edit",
  apply_patch: "edit",
  view: "read",
  grep: "search",
  glob: "search",
  web_fetch: "web",
  web_search: "web",
  task: "agent",
};

export const toolKind = (name: string): ToolKind => (isOurs(name) ? "segno" : (KINDS[name] ?? "other"));

export const contentKind = (name: string): ContentKind => contentKindOf(toolKind(name));
