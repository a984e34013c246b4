/** How a request for permission is answered: nobody is there to be asked, so the level decides, this once. */

import type { SessionOptions } from "../agent.js";
import { isObject } from "../is-object.js";
import { kindOf, nameOf, type ToolCall } from "./tools.js";

export type PermissionAnswer = { outcome: { outcome: "selected"; optionId: string } | { outcome: "cancelled" } };

type Level = Pick<SessionOptions, "permissions" | "readOnly" | "allowedTools" | "deniedTools">;

/** `onlyOurs`: the session hands over, and nothing else is to be done. */
export function isAllowed(call: ToolCall, level: Level, onlyOurs: boolean): boolean {
  const kind = kindOf(call);
  if (kind === "segno") return true;
  if (onlyOurs || level.deniedTools.includes(nameOf(call))) return false;
  if (level.readOnly) return kind === "read" || kind === "search" || kind === "shell";
  if (level.permissions === "all" || level.allowedTools.includes(nameOf(call))) return true;
  return level.permissions === "edits" && (kind === "edit" || kind === "read" || kind === "search");
}

/** The option that means it and nothing beyond this call; undefined where there is none. */
export function answerFor(options: unknown, allowed: boolean): PermissionAnswer {
  const wanted = allowed ? ["allow_once", "allow_always"] : ["reject_once", "reject_always"];
  const given = Array.isArray(options) ? options.filter(isObject) : [];
  for (const kind of wanted) {
    const option = given.find((each) => each.kind === kind);
    if (typeof option?.optionId === "string") return { outcome: { outcome: "selected", optionId: option.optionId } };
  }
  return { outcome: { outcome: "cancelled" } };
}
