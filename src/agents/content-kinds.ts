/** What a tool's result is to the meter, by what the tool is for. */
import type { ContentKind } from "../context/ratios.js";
import type { ToolKind } from "../run/event.js";

const CONTENT: Partial<Record<ToolKind, ContentKind>> = {
  shell: "bash",
  edit: "edit",
  read: "read",
  search: "grep",
  web: "web",
  agent: "agent",
  segno: "mcp",
};

export const contentKindOf = (kind: ToolKind): ContentKind => CONTENT[kind] ?? "other";
