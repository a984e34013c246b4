/**
 * A command that a project's file wants to start as an agent: anyone may have committed it, so it is shown, and confirmed
 * once, at a terminal. What the user wrote themselves, in their own file or on the command line, needs no word.
 */
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { z } from "zod";
import { bad, good, type Result } from "../engine/failure.js";
import { writeWhole } from "../store/atomic.js";
import { askChoice, isTerminal, YES_NO } from "./ask.js";
import type { Settings } from "./settings.js";

const confirmedSchema = z.array(z.object({ file: z.string(), command: z.string() }));
type Confirmed = z.infer<typeof confirmedSchema>;

const confirmedFile = (env: NodeJS.ProcessEnv = process.env): string =>
  join(env.XDG_STATE_HOME ?? join(env.HOME ?? homedir(), ".local", "state"), "segno", "agent-commands.json");

function readConfirmed(): Confirmed {
  const path = confirmedFile();
  if (!existsSync(path)) return [];
  try {
    const parsed = confirmedSchema.safeParse(JSON.parse(readFileSync(path, "utf8")));
    return parsed.success ? parsed.data : [];
  } catch {
    return [];
  }
}

/** Those that nobody has confirmed for this project. */
export function unconfirmed({ file, commands }: Settings): string[] {
  if (commands.length === 0) return [];
  const known = readConfirmed();
  return commands.filter((command) => !known.some((each) => each.file === file && each.command === command));
}

export async function confirmCommands(settings: Settings, json: boolean): Promise<Result<undefined>> {
  for (const command of unconfirmed(settings)) {
    const what = `This project's .segno/config.yaml wants to start a command as an agent: ${command}`;
    const answer = isTerminal(json) ? await askChoice(`${what}\nMay it? It runs as you.`, YES_NO) : undefined;
    if (answer !== "yes")
      return bad({
        type: "usage",
        what,
        fix: `Nobody has confirmed it. Confirm it once at a terminal, or name it yourself: --agent "acp:${command}", or in your own configuration file.`,
      });
    const path = confirmedFile();
    mkdirSync(dirname(path), { recursive: true });
    writeWhole(path, `${JSON.stringify([...readConfirmed(), { file: settings.file, command }], null, 2)}\n`);
  }
  return good(undefined);
}
