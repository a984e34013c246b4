/** The first event of a journal, for benchmarks that fold one. */
import { configSchema } from "../build/config/schema.js";

export const runStarted = (plan, config = {}, more = {}) => ({
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
