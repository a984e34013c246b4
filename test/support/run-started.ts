/** The first event of a journal, of a run that nobody had to prepare. */
import { type Config, configSchema } from "../../src/config/schema.js";
import type { Plan } from "../../src/plan/model.js";
import type { FactOf } from "../../src/run/event.js";

type Started = FactOf<"run-started">;

export const runStarted = (
  plan: Plan,
  config: Partial<Config> = {},
  more: Partial<Omit<Started, "type" | "plan" | "config">> = {},
): Started => ({
  type: "run-started",
  run: "r",
  mode: "run",
  plan,
  config: configSchema.parse(config),
  parallel: 1,
  gates: "block",
  folder: "",
  branch: "main",
  head: "h",
  takenAsDone: [],
  leftOut: [],
  tasksInGit: {},
  ...more,
});

/** A plan of one phase with one task. */
export const onePhase = (): Plan => ({
  format: "master",
  title: "t",
  goal: "",
  file: "PLAN.md",
  files: ["PLAN.md"],
  phases: [
    {
      id: "1",
      title: "one",
      dependsOn: [],
      tasks: [{ id: "1.1", title: "t", ticked: false, file: "PLAN.md", line: 1 }],
      gates: [],
      text: "",
      mark: undefined,
      complexity: undefined,
      files: [],
      criteria: [],
      readFirst: [],
      file: "PLAN.md",
      line: 1,
    },
  ],
});
