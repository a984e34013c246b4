/** Flags that several commands share. */
import type { Command } from "commander";
import { agentNames } from "../agents/registry.js";
import { FORMATS } from "../plan/model.js";

/** What decides when a session is handed over. */
export const contextFlags = (command: Command): Command =>
  command
    .option("--json", "print the run's events, one JSON object a line")
    .option("--agent <name>", `who does the work: ${agentNames().join(", ")}, or "acp:command args"`)
    .option("--model <name>", "the model the agent uses")
    .option("--context-limit <tokens>", "cap the context window")
    .option("--context-threshold <percent>", "hand over at this percentage of the window (default 80)")
    .option("--context-policy <policy>", "at the threshold: restart (default), ask, observe or stop")
    .option(
      "--context-soft <percent>",
      "hand over after a finished task: from this percentage on, or auto (default): where it is cheaper",
    )
    .option("--max-restarts <n>", "handovers in a row without a finished task before a phase fails (default 3)");

/** How a plan is read. */
export const planFlags = (command: Command): Command =>
  command
    .option("--format <name>", `what form the plan has, if Segno guesses wrong: ${FORMATS.join(", ")}`)
    .option("--tag <name>", "which list of tasks, in a file that holds several (Task Master's tags)");

/** What every run takes. */
export const runFlags = (command: Command): Command =>
  contextFlags(command)
    .option("--detach", "run in the background, and survive this terminal")
    .option("--until <when>", "stop with a checkpoint before then, resumable: 6h, 90m, or a time of day like 07:30")
    .option("--plain", "lines instead of the live screen")
    .option("--attended", "somebody answers questions, though this is no terminal")
    .option("--unattended", "nobody does: what counts when nobody answers counts at once (so does CI=true)")
    .option("--dashboard", "print the link of the run's web page, and open it")
    .option("--permission-mode <mode>", "what the agent may do without asking: all, edits, listed or auto")
    .option("--quality", "let an independent session verify each phase against its acceptance criteria")
    .option("--checkpoint-every <n>", "ask to go on after every n phases")
    .option("--on-failure <what>", "continue with phases that do not depend on it (default), or stop")
    .option("--parallel <n>", "work on up to n independent phases at once, each in a worktree of its own")
    .option("--sequential", "one phase at a time, whatever the configuration says")
    .option("--split <how>", "what to do with a phase that is too large: auto, ask or off")
    .option("--branch <name>", "work on the current branch (default), auto (a new one), or a named one")
    .option("--auto-commit", "commit each phase and before each handover (default)")
    .option("--no-auto-commit", "keep snapshots under refs/segno/ only");
