/** Prepares a fresh checkout as the user says: dependencies, ignored files. */
import { type GateVerdict, runGate } from "../gates/run.js";
import type { HeldRun } from "./held-run.js";
import { markerOf } from "./marker.js";

/** What went wrong, if anything did. */
export async function setUpWorktree(
  { run, gateEnv, top }: HeldRun,
  folder: string,
  id: string,
): Promise<GateVerdict | undefined> {
  const { worktree_setup: command, gate_timeout_minutes } = run.state.config;
  if (command === undefined) return undefined;
  const verdict = await runGate({
    command,
    cwd: folder,
    env: { ...gateEnv, SEGNO_CHECKOUT: top },
    marker: markerOf(run.state.run, id),
    timeoutMs: gate_timeout_minutes * 60_000,
  });
  return verdict.passed ? undefined : verdict;
}
