/** What the configuration says about reading a plan. */
import type { Config } from "../config/schema.js";
import { promptBudget } from "../context/prompt-budget.js";
import type { FormatName, PlanOptions } from "../plan/model.js";

export const planOptions = (config: Config, format: FormatName | undefined): PlanOptions => ({
  format,
  gates: config.gates,
  testCommand: config.test_command,
  // Runs of earlier versions know neither of these.
  projectGates: config.project_gates ?? {},
  tag: config.tag,
  subPhases: config.sub_phases,
  optionalTasks: config.optional_tasks ?? false,
  promptTokens: promptBudget(config.prompt_budget, config.context_limit),
});
