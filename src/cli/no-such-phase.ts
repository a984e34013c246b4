import type { Failure } from "../engine/failure.js";
import type { Plan } from "../plan/model.js";

export const noSuchPhase = (named: string, { phases }: Plan): Failure => ({
  type: "usage",
  what: `There is no phase ${named} in the plan.`,
  fix: `Its phases: ${phases.map(({ id }) => id).join(", ")}.`,
});
