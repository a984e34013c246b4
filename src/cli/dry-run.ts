/** What a run would do: waves, and the size of each phase's first prompt. Starts nothing. */
import { roughTokens } from "../handover/bounded.js";
import { firstView, workPrompt } from "../handover/prompts.js";
import { wavesOf } from "../plan/graph.js";
import { isDone, type Plan } from "../plan/model.js";
import { EXIT } from "./exit.js";

export function dryRun(plan: Plan, only: readonly string[] | undefined, force: boolean, json: boolean): number {
  const byId = new Map(plan.phases.map((phase) => [phase.id, phase]));
  const waves = wavesOf(plan.phases).map((wave) =>
    wave.map((id) => {
      const phase = byId.get(id) as Plan["phases"][number];
      const skipped =
        only !== undefined && !only.includes(id)
          ? "not selected"
          : isDone(phase.mark) && !force
            ? "marked done"
            : undefined;
      const prompt_tokens = roughTokens(workPrompt(firstView(plan, phase)).text);
      return {
        id,
        title: phase.title,
        tasks: phase.tasks.length,
        gates: phase.gates.length,
        prompt_tokens,
        skipped: skipped ?? null,
      };
    }),
  );
  if (json) console.log(JSON.stringify({ plan: plan.file, format: plan.format, waves }));
  else {
    console.log(`${plan.title} (${plan.file}, format ${plan.format}): nothing is started.\n`);
    for (const [index, wave] of waves.entries()) {
      console.log(`wave ${index + 1}`);
      for (const { id, title, tasks, gates, prompt_tokens, skipped } of wave) {
        console.log(
          `  ${id}  ${title}: ${skipped === null ? `${tasks} tasks, ${gates} gates, prompt about ${prompt_tokens} tokens` : `skipped, ${skipped}`}`,
        );
      }
    }
  }
  return EXIT.done;
}
