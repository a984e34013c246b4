/**
 * Gates that cannot fail are found before anyone pays: each gate of a phase that is to be done runs in a scratch clone as
 * things are now. One that passes there proves nothing when its phase is done; it may still guard against breakage.
 */
import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import type { Config } from "../config/schema.js";
import { setUpCheckout } from "../engine/set-up.js";
import { runGate } from "../gates/run.js";
import { type Diagnostic, isDone, type Plan } from "../plan/model.js";
import { sameFolder, stageClone } from "../rehearsal/stage.js";
import { listenToSignals } from "./signals.js";

export interface TriedGate {
  phase: string;
  gate: string;
  command: string;
  passed: boolean;
  why: string;
  doubt: Diagnostic | undefined;
}

export async function tryGates(top: string, plan: Plan, config: Config, json: boolean): Promise<TriedGate[]> {
  // Ctrl-C ends the gate that runs, and what it started.
  const { early: signal } = listenToSignals();
  const stage = await stageClone(top, plan.files);
  const env = Object.fromEntries(
    Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  // One each: what ends the last processes of a gate may still be at it when the next begins.
  const marker = (): string => `try-gates:${randomUUID()}`;
  const minutes = config.gate_timeout_minutes;
  try {
    const setup = await setUpCheckout(stage.repository, {
      command: config.worktree_setup,
      top,
      env,
      marker: marker(),
      minutes,
    });
    if (setup !== undefined && !json) console.log(`worktree_setup failed in the clone: ${setup.why}`);
    const verdicts = new Map<string, { passed: boolean; why: string }>();
    const tried: TriedGate[] = [];
    for (const phase of plan.phases.filter(({ mark }) => !isDone(mark)))
      for (const { name, check, file, line } of phase.gates) {
        if (check.type !== "command") continue;
        const { command } = check;
        if (!verdicts.has(JSON.stringify(check)) && !json) console.log(`trying ${command}`);
        const key = JSON.stringify(check);
        const verdict =
          verdicts.get(key) ??
          (await runGate({
            command,
            prints: check.prints,
            cwd: sameFolder(stage, top, process.cwd()),
            env,
            marker: marker(),
            timeoutMs: minutes * 60_000,
            signal,
          }));
        verdicts.set(key, verdict);
        if (signal.aborted) return tried;
        const { passed, why } = verdict;
        tried.push({
          phase: phase.id,
          gate: name,
          command,
          passed,
          why,
          doubt: doubtOf(phase.id, name, verdict, { file, line }),
        });
      }
    return tried;
  } finally {
    rmSync(stage.folder, { recursive: true, force: true });
  }
}

function doubtOf(
  phase: string,
  gate: string,
  { passed }: { passed: boolean },
  place: { file: string; line: number },
): Diagnostic | undefined {
  if (!passed) return undefined;
  return {
    severity: "warning",
    ...place,
    message: `The gate "${gate}" passes without the work of phase ${phase}: that it passes later does not show that the phase is done.`,
    fix: "Add one that fails until the work is done (a test of it, a file that must be there). This one may still guard against breakage.",
  };
}

export function triedText(tried: readonly TriedGate[]): string {
  const lines = tried.map(
    ({ phase, gate, passed, why }) =>
      `  ${phase}  ${gate}: ${passed ? "passes already" : NOT_FOUND.test(why) ? `cannot be judged here (${why})` : `fails now, as it should (${why})`}`,
  );
  return ["Gates, tried without the plan's work:", ...lines].join("\n");
}

const NOT_FOUND = /\b12[67]\b/;
