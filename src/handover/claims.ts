/** What an agent says it did, and what git shows: the two sides of an audit. */
import type { ToolInput } from "../tools/tools.js";

export type Claims = ToolInput<"checkpoint">;

export interface FileChange {
  path: string;
  kind: "A" | "M" | "D" | "T" | "R";
  /** Where it was before a rename. */
  from?: string | undefined;
  added?: number | undefined;
  removed?: number | undefined;
}
