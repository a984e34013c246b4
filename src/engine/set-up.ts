/** Prepares a fresh checkout as the user says (`worktree_setup`): dependencies, ignored files. */
import { type GateVerdict, runGate } from "../gates/run.js";
import type { HeldRun } from "./held-run.js";
import { markerOf } from "./marker.js";

export interface SetUp {
  /** The user's command; undefined: there is nothing to do. */
  command: string | undefined;
  /** The user's own checkout, which the command may copy from. */
  top: string;
  env: Readonly<Record<string, string>>;
  marker: string;
  minutes: number;
  signal?: AbortSignal | undefined;
}

/** What went wrong, if anything did. */
export async function setUpCheckout(folder: string, how: SetUp): Promise<GateVerdict | undefined> {
  const { command, top, env, marker, minutes, signal } = how;
  if (command === undefined) return undefined;
  const verdict = await runGate({
    command,
    cwd: folder,
    env: { ...env, SEGNO_CHECKOUT: top },
    marker,
    timeoutMs: minutes * 60_000,
    signal,
  });
  return verdict.passed ? undefined : verdict;
}

export function setUpWorktree(held: HeldRun, folder: string, id: string): Promise<GateVerdict | undefined> {
  const { run, gateEnv: env, top, stop: signal } = held;
  const { worktree_setup: command, gate_timeout_minutes: minutes } = run.state.config;
  return setUpCheckout(folder, { command, top, env, marker: markerOf(run.state.run, id), minutes, signal });
}
