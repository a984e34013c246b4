/** What a phase really changed, and what in it looks wrong. */
import { suspicionsIn } from "../gates/suspicion.js";
import { diffOf } from "../git/diff.js";
import type { ChangedFile } from "../run/changed-file.js";
import type { Suspicion } from "../run/event.js";
import type { Attempt } from "../run/phase.js";
import { phaseOf } from "../run/state.js";
import { checkoutOf } from "./checkout.js";
import { changedByPhase } from "./checkpoint.js";
import type { HeldRun } from "./held-run.js";

export async function lookAtChange(
  held: HeldRun,
  phase: string,
  { origin }: Pick<Attempt, "origin">,
): Promise<{ files: ChangedFile[]; suspicions: Suspicion[] }> {
  const { run } = held;
  const { git } = checkoutOf(held, phase);
  const { gates, text } = phaseOf(run.state, phase);
  const files = await changedByPhase(git, origin.baseline, run.state.plan);
  // Nothing can be said of it; its commit will say why.
  if (files === undefined) return { files: [], suspicions: [] };
  const commands = gates.flatMap(({ name, check }) =>
    check.type === "command" ? [{ name, command: check.command }] : [],
  );
  const suspicions = suspicionsIn({
    files,
    diff: await diffOf(git, origin.baseline),
    gates: commands.map((gate) => ({ ...gate, times: run.state.gateTimes.get(gate.command) ?? [] })),
    // That a gate names its script asks nobody to change it.
    phaseText: text
      .split("\n")
      .filter((line) => !commands.some(({ command }) => line.includes(command)))
      .join("\n"),
  });
  return { files, suspicions };
}
