/** A plan that is only looked at: found and read, whatever the state of the repository. */

import { good, type Result } from "../engine/failure.js";
import { findPlan } from "../engine/find-plan.js";
import { planFiles } from "../engine/plan-files.js";
import type { ParsedPlan, PlanOptions } from "../plan/model.js";
import { parsePlan } from "../plan/parse.js";

export async function readPlan(
  top: string,
  named: string | undefined,
  options: PlanOptions,
): Promise<Result<ParsedPlan>> {
  const found = await findPlan(top, process.cwd(), named, options);
  return found.ok ? good(parsePlan(found.value, planFiles(top).read, options)) : found;
}
