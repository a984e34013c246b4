/**
 * A home for one session: everything of the user's by links, and their settings with ours on top. Gemini CLI takes hooks from
 * files that only root may write, or from the user's own, and that one is not ours to change.
 */

import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { askSource } from "../hook-script.js";
import { isObject } from "../is-object.js";
import type { SessionDoor } from "../session-door.js";

const SETTINGS = "settings.json";
const PROJECTS = "projects.json";
const HOOK = "segno-hook.mjs";

export const folderOf = (env: Readonly<Record<string, string>>): string =>
  join(env.GEMINI_CLI_HOME ?? env.HOME ?? homedir(), ".gemini");

export interface SessionHome {
  home: string;
  /** Takes over what it wrote so far. */
  keep(): void;
  remove(): void;
}

export interface OwnSettings {
  /** Whether it may sum its context up by itself. */
  compacts: boolean;
  deniedTools: readonly string[];
  isolated: boolean;
}

export function makeHome(env: Readonly<Record<string, string>>, door: SessionDoor, own: OwnSettings): SessionHome {
  const home = mkdtempSync(join(tmpdir(), "segno-gemini-"));
  chmodSync(home, 0o700);
  const [theirs, ours] = [folderOf(env), join(home, ".gemini")];
  mkdirSync(theirs, { recursive: true });
  mkdirSync(ours);
  // What is not there yet is made in the user's, where the next session finds it.
  for (const name of ["tmp", "history"]) mkdirSync(join(theirs, name), { recursive: true });
  for (const name of readdirSync(theirs)) if (name !== SETTINGS) symlinkSync(join(theirs, name), join(ours, name));
  writeFileSync(join(ours, HOOK), hookSource(door), { mode: 0o600 });
  const command = `${JSON.stringify(process.execPath)} ${JSON.stringify(join(ours, HOOK))}`;
  const settings = withOurs(own.isolated ? {} : readSettings(join(theirs, SETTINGS)), command, own);
  writeFileSync(join(ours, SETTINGS), JSON.stringify(settings), { mode: 0o600 });
  const keep = (): void => keepNew(ours, theirs);
  return {
    home,
    keep,
    remove: () => {
      keep();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** What it wrote beside the links, or in their place, belongs to the user's: a renewed login, where a project's talks are. */
function keepNew(ours: string, theirs: string): void {
  if (!existsSync(ours)) return;
  for (const entry of readdirSync(ours, { withFileTypes: true })) {
    if (!entry.isFile() || [SETTINGS, HOOK].includes(entry.name) || entry.name.endsWith(".tmp")) continue;
    const [from, to] = [join(ours, entry.name), join(theirs, entry.name)];
    if (entry.name !== PROJECTS) copyFileSync(from, to);
    else {
      // Other sessions write theirs meanwhile.
      const [before, now] = [readSettings(to), readSettings(from)];
      const projects = { ...objectIn(before.projects), ...objectIn(now.projects) };
      const draft = `${to}.segno-${process.pid}.tmp`;
      writeFileSync(draft, JSON.stringify({ ...before, projects }, null, 2));
      renameSync(draft, to);
    }
  }
}

type Json = Record<string, unknown>;

/** The user's hooks are run, too. */
function withOurs(theirs: Json, command: string, { compacts, deniedTools }: OwnSettings): Json {
  const [hooks, model, tools] = [objectIn(theirs.hooks), objectIn(theirs.model), objectIn(theirs.tools)];
  const hook = { hooks: [{ type: "command", name: "segno", command, timeout: 86_400_000 }] };
  return {
    ...theirs,
    hooks: { ...hooks, BeforeModel: [...listIn(hooks.BeforeModel), hook] },
    model: { ...model, ...(compacts ? {} : { compressionThreshold: 1 }) },
    ...(deniedTools.length === 0 ? {} : { tools: { ...tools, exclude: [...listIn(tools.exclude), ...deniedTools] } }),
  };
}

function readSettings(file: string): Json {
  if (!existsSync(file)) return {};
  try {
    // It allows comments in it.
    return objectIn(
      JSON.parse(readFileSync(file, "utf8").replaceAll(/("(?:[^"\\]|\\.)*")|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, "$1")),
    );
  } catch {
    return {};
  }
}

const objectIn = (value: unknown): Json => (isObject(value) ? value : {});
const listIn = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** What is run before each model call: it asks Segno, and says what it is told. */
const hookSource = (door: SessionDoor): string => `
import { readFileSync } from "node:fs";
${askSource(door)}
const { session_id, transcript_path, llm_request } = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(await ask({ session: session_id, transcript: transcript_path, model: llm_request?.model }));
`;
