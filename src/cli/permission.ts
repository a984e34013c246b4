/** `permission_mode` is chosen once: asked at a terminal and written to the configuration, else refused. */
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Config } from "../config/schema.js";
import { bad, good, type Result } from "../engine/failure.js";
import { writeWhole } from "../store/atomic.js";
import { askChoice, isTerminal } from "./ask.js";

type Mode = NonNullable<Config["permission_mode"]>;

/** Each level in a sentence, with what it cannot finish. */
export const MODES: { name: Mode; meaning: string }[] = [
  {
    name: "all",
    meaning: "everything, as you, and every plan can be finished; best in a container or on a machine of its own",
  },
  {
    name: "edits",
    meaning:
      "edits in the repository; shell commands only where your agent's settings allow them, so tasks that must build, test or install may not be finished",
  },
  { name: "listed", meaning: "only what your agent's settings allow: without a list there, not even edits" },
  { name: "auto", meaning: "the agent's own classifier decides, and may refuse what a task needs" },
];

export async function permissionMode(config: Config, file: string, json: boolean): Promise<Result<Mode>> {
  if (config.permission_mode !== undefined) return good(config.permission_mode);
  if (!isTerminal(json)) return bad({ type: "no-permission-mode" });
  const chosen = await askChoice("What may the agent do without asking? Nobody will be there to answer it.", MODES);
  if (chosen === undefined) return bad({ type: "no-permission-mode" });
  mkdirSync(dirname(file), { recursive: true });
  const before = existsSync(file) ? readFileSync(file, "utf8") : "";
  writeWhole(file, `${before}\npermission_mode: ${chosen}\n`);
  console.log(`Written to ${file}; change it there.\n`);
  return good(chosen as Mode);
}
