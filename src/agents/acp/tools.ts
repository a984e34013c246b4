/** What ACP says of a tool call, in our words. Agents give titles, not names: ours are known by their server's. */

import type { ContentKind } from "../../context/ratios.js";
import type { ToolKind } from "../../run/event.js";
import { SERVER_NAME } from "../../tools/server-name.js";
import { TOOL_NAMES, type ToolName } from "../../tools/tools.js";
import { contentKindOf } from "../content-kinds.js";
import { firstLine } from "../first-line.js";
import { isObject } from "../is-object.js";

/** A tool call as far as it was told; an update brings only what changed. */
export interface ToolCall {
  toolCallId: string;
  title?: string | null;
  kind?: string | null;
  status?: string | null;
  content?: unknown;
  rawInput?: unknown;
  rawOutput?: unknown;
  locations?: { path?: string }[] | null;
}

const KINDS: Record<string, ToolKind> = {
  read: "read",
  edit: "edit",
  delete: "edit",
  move: "edit",
  search: "search",
  execute: "shell",
  fetch: "web",
};

const SERVER = new RegExp(`(^|[^a-z0-9])${SERVER_NAME}([^a-z0-9]|$)`, "i");

/** Which of ours it is: seen were `segno_progress`, `mcp__segno__progress`, `progress (segno MCP Server)`. */
export function ourTool({ title }: ToolCall): ToolName | undefined {
  const text = title ?? "";
  if (!SERVER.test(text.replaceAll("_", " "))) return undefined;
  // The longest first: one name may be part of another.
  return TOOL_NAMES.toSorted((a, b) => b.length - a.length).find((name) => text.includes(name));
}

export const kindOf = (call: ToolCall): ToolKind =>
  ourTool(call) === undefined ? (KINDS[call.kind ?? ""] ?? "other") : "segno";

/** As a person would call it. */
export const nameOf = (call: ToolCall): string => ourTool(call) ?? call.kind ?? "tool";

export const contentKind = (call: ToolCall): ContentKind => contentKindOf(kindOf(call));

export function briefOf({ rawInput, locations, title }: ToolCall): string {
  const { command, file_path, path, message } = (isObject(rawInput) ? rawInput : {}) as Record<string, unknown>;
  const said = command ?? file_path ?? path ?? message ?? locations?.[0]?.path ?? title ?? "";
  return firstLine(Array.isArray(said) ? said.join(" ") : said);
}

export const isOver = ({ status }: ToolCall): boolean => status === "completed" || status === "failed";

/** A command that ran and failed is often "completed". */
export function isOk({ status, rawOutput }: ToolCall): boolean {
  if (status !== "completed") return false;
  const output = (isObject(rawOutput) ? rawOutput : {}) as Record<string, unknown>;
  const exit = output.exitCode ?? output.exit_code ?? (isObject(output.metadata) ? output.metadata.exit : undefined);
  return typeof exit !== "number" || exit === 0;
}
