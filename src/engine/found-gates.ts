/**
 * Gates for a plan that has none: the project's own checks, as far as they pass before the first phase. What fails then, or
 * cannot be run here, would be no phase's fault, and is only named.
 */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { Config } from "../config/schema.js";
import type { FoundCheck } from "../gates/found/check.js";
import { foundChecks } from "../gates/found/checks.js";
import { runGate } from "../gates/run.js";
import { withCleanCheckout } from "../git/clean-checkout.js";
import type { Git } from "../git/git.js";
import type { Plan, ReadPlanFile } from "../plan/model.js";
import type { FactOf } from "../run/event.js";
import { setUpCheckout } from "./set-up.js";

/** Longer than this a check is no gate that somebody waits for after each phase without having chosen it. */
const MOST_MINUTES = 10;

/** A file that must be written is no judgement of the work; a command in the plan's words counts where nothing better is found. */
export const hasGates = ({ phases }: Plan, { test_command, project_gates = {} }: Config): boolean =>
  test_command !== undefined ||
  Object.keys(project_gates).length > 0 ||
  phases.some(({ gates }) => gates.some(({ check, inWords }) => check.type !== "file" && inWords !== true));

/** The project's own checks in this folder, where they would be run, and what the plan's words name. */
export function checksOf(read: ReadPlanFile, folder: string, plan?: Plan): FoundCheck[] {
  const text = (path: string): string | undefined => {
    const found = read(path);
    return typeof found === "string" ? found : undefined;
  };
  const below = folder === "" ? "" : `${folder}/`;
  const beside =
    plan?.phases.flatMap(({ readFirst }) => readFirst.filter((file) => file.endsWith("quickstart.md"))) ?? [];
  const files = [...new Set([...(plan?.files ?? []), ...beside])].filter((file) => file.endsWith(".md"));
  const texts = files.flatMap((file) => {
    const source = text(file);
    return source === undefined ? [] : [{ file, text: source }];
  });
  return foundChecks(
    {
      read: (path) => text(below + path),
      exists: (path) => read(below + path) !== undefined,
      list: (inner) => read.list?.(inner) ?? [],
    },
    texts,
  );
}

export interface Trying {
  git: Git;
  cwd: string;
  folder: string;
  config: Config;
  env: Record<string, string>;
  signal?: AbortSignal | undefined;
  /** Something that takes a while is about to begin. */
  say?: ((text: string) => void) | undefined;
}

export interface Tried {
  gates: Record<string, string>;
  /** What those that are used said before the first phase. */
  results: FactOf<"gates-baselined">["results"];
  notices: string[];
}

const statusOf = async (git: Git): Promise<string> =>
  (await git.attempt(["status", "--porcelain=v1", "-z", "--untracked-files=all"])).stdout;

/** Nothing is there to press a key: a check that waits for one ends. */
export const asCommand = (command: string): string => `CI=true ${command}`;

export async function tryChecks(checks: readonly FoundCheck[], trying: Trying): Promise<Tried> {
  const tried: Tried = { gates: {}, results: [], notices: [] };
  if (checks.length === 0) return tried;
  const { git, cwd, folder, config } = trying;
  // Where phases get checkouts of their own, a check must pass in a fresh one.
  if (config.parallel === 1 && config.gates_on === "tree") await tryIn(cwd, checks, trying, tried);
  else
    await withCleanCheckout(git, async (place) => {
      const setup = await setUpCheckout(place, {
        command: config.worktree_setup,
        top: git.top,
        env: trying.env,
        marker: `setup:${randomUUID()}`,
        minutes: config.gate_timeout_minutes,
        signal: trying.signal,
      });
      if (setup === undefined) await tryIn(join(place, folder), checks, trying, tried);
      else tried.notices.push(`worktree_setup failed (${setup.why}): the project's own checks cannot be tried.`);
    });
  return tried;
}

async function tryIn(cwd: string, checks: readonly FoundCheck[], trying: Trying, tried: Tried): Promise<void> {
  const { config, env, signal, say, git } = trying;
  for (const { name, command: bare, where } of checks) {
    if (signal?.aborted === true) return;
    const command = asCommand(bare);
    const before = await statusOf(git);
    say?.(`no gate is named: trying ${bare} (${where}), which the project has`);
    const { passed, why, ms, calledOff } = await runGate({
      command,
      cwd,
      env,
      marker: `try-gates:${randomUUID()}`,
      timeoutMs: Math.min(MOST_MINUTES, config.gate_timeout_minutes) * 60_000,
      signal,
    });
    if (calledOff === true) return;
    // One that changes files would do so after every phase.
    if ((await statusOf(git)) !== before)
      tried.notices.push(`Not used as a gate, it changes files of the repository: ${bare} (${where}). See git status.`);
    else if (!passed)
      tried.notices.push(`Not used as a gate, it does not pass as things are: ${bare} (${where}): ${why}.`);
    else {
      tried.gates[name] = command;
      tried.results.push({ command, name, passed, number: undefined, ms });
      tried.notices.push(`No gate is named, so ${bare} (${where}) judges every phase: it passes before the first.`);
    }
  }
}
