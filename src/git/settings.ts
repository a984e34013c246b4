/**
 * The repository's settings and hooks, as they were when the run began, and what it leaves out of git and treats
 * otherwise there (`info/`). An agent can hide a command in them that others run, or its own work: what it changes is put
 * back, and named. What it may need for its work (branches, submodules) is left alone.
 */
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Git } from "./git.js";
import { gitPlaces } from "./places.js";

/** Of these an agent may change what it likes. */
const FREE = /^(branch|submodule|gc|maintenance|color|advice|lfs)\./i;
const LARGEST_HOOK = 1024 * 1024;
/** Settings that make git itself run something, or look elsewhere, whatever it is asked for. */
const RUNS =
  /^(filter\..*|diff\..*\.(command|textconv)|merge\..*\.driver|core\.(fsmonitor|attributesfile|worktree|bare)|include(if)?\..*)$/i;
const INFO = ["exclude", "attributes"];

interface Hook {
  mode: number;
  /** As base64. */
  content: string;
}

export interface Settings {
  /** The text of each settings file, by path; one that is not there is not in it. */
  files: Record<string, string>;
  hooks: Record<string, Hook>;
  /** Files that are put back whole. */
  info?: Record<string, string> | undefined;
}

export interface PutBack {
  /** Names of settings and hooks that had been changed. */
  names: string[];
  /** What they were changed to. */
  was: string;
}

/** `again`: the run was interrupted, and what was noted at its start still counts. */
export function noteSettings(top: string, run: string, { again }: { again: boolean }): Settings | undefined {
  const places = gitPlaces(top);
  if (places === undefined) return undefined;
  const file = noteOf(places.common, run);
  if (again && existsSync(file)) {
    try {
      return JSON.parse(readFileSync(file, "utf8")) as Settings;
    } catch {
      // Half of a note is none.
    }
  }
  const now = readSettings(places);
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, JSON.stringify(now), { mode: 0o600 });
  } catch {
    // It only serves after an interruption.
  }
  return now;
}

export function forgetSettings(top: string, run: string): void {
  const places = gitPlaces(top);
  if (places === undefined) return;
  try {
    rmSync(noteOf(places.common, run), { force: true });
  } catch {
    // It only serves after an interruption: where its folder is none any more, it is gone.
  }
}

const noteOf = (common: string, run: string): string => join(common, "segno", "settings", `${run}.json`);

function readSettings({ own, common }: { own: string; common: string }): Settings {
  const files: Record<string, string> = {};
  for (const path of new Set([join(common, "config"), join(common, "config.worktree"), join(own, "config.worktree")]))
    if (existsSync(path)) files[path] = readFileSync(path, "utf8");
  const info: Record<string, string> = {};
  for (const path of INFO.map((name) => join(common, "info", name)))
    if (existsSync(path)) info[path] = readFileSync(path, "utf8");
  return { files, hooks: readHooks(join(common, "hooks")), info };
}

function readHooks(folder: string): Record<string, Hook> {
  const hooks: Record<string, Hook> = {};
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    const path = join(folder, name);
    const found = statSync(path, { throwIfNoEntry: false });
    if (name.endsWith(".sample") || found?.isFile() !== true || found.size > LARGEST_HOOK) continue;
    try {
      hooks[path] = { mode: found.mode & 0o777, content: readFileSync(path).toString("base64") };
    } catch {
      // What cannot be read cannot be put back.
    }
  }
  return hooks;
}

/** Undefined where nothing was changed; `asked`: whether the phase is about this. */
export async function putSettingsBack(
  git: Git,
  noted: Settings,
  asked: (name: string) => boolean,
): Promise<PutBack | undefined> {
  const places = gitPlaces(git.top);
  if (places === undefined) return undefined;
  const now = readSettings(places);
  const names: string[] = [];
  const was: string[] = [];
  // A worktree that was made since has settings of its own, copied from the others.
  const known = new Set([...Object.keys(noted.files), join(places.common, "config")]);
  for (const path of known) {
    const [before, after] = [noted.files[path], now.files[path]];
    if (before === after) continue;
    const changed = await restoreFile(git, path, before, asked);
    names.push(...changed);
    if (changed.length > 0 && after !== undefined) was.push(`# ${path}\n${after}`);
  }
  for (const { path, before, after } of changedInfo(noted, now)) {
    const name = path.slice(places.common.length + 1);
    if (asked(name)) continue;
    restoreInfo(path, before);
    names.push(name);
    if (after !== undefined) was.push(`# ${name}\n${after}`);
  }
  for (const path of new Set([...Object.keys(noted.hooks), ...Object.keys(now.hooks)])) {
    const [before, after] = [noted.hooks[path], now.hooks[path]];
    const name = `hooks/${path.slice(path.lastIndexOf("/") + 1)}`;
    if ((before?.content === after?.content && before?.mode === after?.mode) || asked("hook")) continue;
    if (before === undefined) rmSync(path, { force: true });
    else {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, Buffer.from(before.content, "base64"));
      chmodSync(path, before.mode);
    }
    names.push(name);
    if (after !== undefined) was.push(`# ${name}\n${Buffer.from(after.content, "base64").toString("utf8")}`);
  }
  // What was left as it is counts from here on: it was asked for, or is free.
  const after = readSettings(places);
  noted.files = Object.fromEntries(Object.entries(after.files).filter(([path]) => known.has(path)));
  noted.hooks = after.hooks;
  noted.info = after.info;
  return names.length === 0 ? undefined : { names, was: was.join("\n") };
}

/** Before git looks at files while an agent is at work: what would make it run something is put back, all else later. */
export async function putCommandsBack(git: Git, noted: Settings): Promise<string[]> {
  const places = gitPlaces(git.top);
  if (places === undefined) return [];
  const now = readSettings(places);
  const names: string[] = [];
  const config = join(places.common, "config");
  if (noted.files[config] !== now.files[config])
    names.push(...(await restoreFile(git, config, noted.files[config], (name) => !RUNS.test(name))));
  for (const { path, before } of changedInfo(noted, now).filter((each) => each.path.endsWith("attributes"))) {
    restoreInfo(path, before);
    names.push(path.slice(places.common.length + 1));
  }
  return names;
}

function changedInfo(
  { info: noted = {} }: Settings,
  { info: now = {} }: Settings,
): { path: string; before: string | undefined; after: string | undefined }[] {
  return [...new Set([...Object.keys(noted), ...Object.keys(now)])]
    .map((path) => ({ path, before: noted[path], after: now[path] }))
    .filter(({ before, after }) => before !== after);
}

function restoreInfo(path: string, before: string | undefined): void {
  if (before === undefined) return rmSync(path, { force: true });
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, before);
}

/** Setting by setting, so that what may be changed stays; a file that cannot be read any more is written anew. */
async function restoreFile(
  git: Git,
  path: string,
  before: string | undefined,
  asked: (name: string) => boolean,
): Promise<string[]> {
  const after = existsSync(path) ? await listed(git, path) : undefined;
  const draft = `${path}.segno-before`;
  try {
    writeFileSync(draft, before ?? "", { mode: 0o600 });
    const wanted = (await listed(git, draft)) ?? new Map<string, string[]>();
    if (after === undefined) {
      if (before === undefined) return [];
      writeFileSync(path, before);
      return [`${path.slice(path.lastIndexOf("/") + 1)} (all of it)`];
    }
    const names = [...new Set([...wanted.keys(), ...after.keys()])].filter(
      (name) => !FREE.test(name) && !asked(name) && !same(wanted.get(name), after.get(name)),
    );
    for (const name of names) {
      if (after.has(name)) await git.attempt(["config", "--file", path, "--unset-all", name]);
      for (const value of wanted.get(name) ?? []) await git.raw(["config", "--file", path, "--add", name, value]);
    }
    return names;
  } finally {
    rmSync(draft, { force: true });
  }
}

const same = (a: readonly string[] | undefined, b: readonly string[] | undefined): boolean =>
  JSON.stringify(a ?? []) === JSON.stringify(b ?? []);

async function listed(git: Git, file: string): Promise<Map<string, string[]> | undefined> {
  const shown = await git.attempt(["config", "--file", file, "--no-includes", "--list", "-z"]);
  if (!shown.ok) return undefined;
  const settings = new Map<string, string[]>();
  for (const entry of shown.stdout.split("\0").filter((text) => text !== "")) {
    const at = entry.indexOf("\n");
    const name = at < 0 ? entry : entry.slice(0, at);
    settings.set(name, [...(settings.get(name) ?? []), at < 0 ? "" : entry.slice(at + 1)]);
  }
  return settings;
}
