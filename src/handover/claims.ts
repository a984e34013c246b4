/** What an agent says it did, before it is audited. */
import type { ToolInput } from "../tools/tools.js";

export type Claims = ToolInput<"checkpoint">;
