/** Every key of `.segno/config.yaml`: type, range, default and meaning in one place. */
import { z } from "zod";
import { DEFAULT_CAP, POLICIES } from "../context/policy.js";

/** What an agent may do without asking, in no agent's words; Claude Code's own words mean the same. */
export const PERMISSION_LEVELS = ["all", "edits", "listed", "auto"] as const;
const OTHER_WORDS = { bypassPermissions: "all", acceptEdits: "edits", dontAsk: "listed" } as const;

const permissionLevel = z
  .enum([...PERMISSION_LEVELS, ...(Object.keys(OTHER_WORDS) as (keyof typeof OTHER_WORDS)[])])
  .transform((word): (typeof PERMISSION_LEVELS)[number] =>
    word in OTHER_WORDS ? OTHER_WORDS[word as keyof typeof OTHER_WORDS] : (word as (typeof PERMISSION_LEVELS)[number]),
  );

const NOTICES = ["question", "failed", "finished", "limit"] as const;
const address = z.url({ protocol: /^https?$/ });
const notifier = z
  .strictObject({
    on: z
      .array(z.enum(NOTICES))
      .min(1)
      .default([...NOTICES]),
    command: z.string().min(1).optional(),
    webhook: address.optional(),
    ntfy: address.optional(),
    desktop: z.literal(true).optional(),
  })
  .refine(
    ({ command, webhook, ntfy, desktop }) =>
      [command, webhook, ntfy, desktop].filter((way) => way !== undefined).length === 1,
    "give exactly one of command, webhook, ntfy and desktop",
  );

const name = z.string().min(1).max(200);
/** By its name, or any that speaks the Agent Client Protocol by its command. */
const agentName = z.union([
  z.string().min(1).max(2_000),
  z.strictObject({ acp: z.string().min(1).max(2_000) }).transform(({ acp }) => `acp:${acp}`),
]);
/** An agent by its name, or an agent with a model, or a model alone. */
const who = z.union([agentName, z.strictObject({ agent: agentName.optional(), model: name.optional() })]);
const rule = z
  .strictObject({
    phases: z.array(z.union([z.string(), z.number()])).optional(),
    title: z.string().min(1).optional(),
    agent: agentName.optional(),
    model: name.optional(),
  })
  .refine(({ phases, title }) => phases !== undefined || title !== undefined, "give phases, or a title")
  .refine(({ agent, model }) => agent !== undefined || model !== undefined, "give an agent, or a model");
const agents = z.strictObject({
  work: who.optional(),
  remediate: who.optional(),
  verify: who.optional(),
  merge: who.optional(),
  rules: z.array(rule).max(100).default([]),
});

export const configSchema = z.strictObject({
  agent: agentName
    .default("claude")
    .describe(
      'The coding agent that does the work; `{ acp: "command args" }` (on the command line `acp:command args`) is any that speaks the Agent Client Protocol.',
    ),
  model: z.string().min(1).optional().describe("The model the agent uses; the agent's own default if not set."),
  agents: agents
    .optional()
    .describe(
      'Who does what, beside `agent` and `model`: by purpose (`work`, `remediate`, `verify`, `merge`: a name, or `{ agent, model }`), and by phase (`rules`, a list of `{ phases: [1, 2] }` or `{ title: "part of a title" }` with `agent` and `model`; the first that fits counts). `**Agent:**` and `**Model:**` in a phase\'s own text come before rules. For `verify` the purpose comes first: who judges need not be who wrote.',
    ),
  fallback: z
    .array(agentName)
    .max(20)
    .optional()
    .describe(
      "Agents, or names of `accounts`, that go on with a phase where its own is at a usage limit for longer than `relay_after_minutes`, is down after its retries, or is refused (login, model), in this order. Without it the run waits, or the phase fails.",
    ),
  relay_after_minutes: z
    .number()
    .min(0)
    .max(100_000)
    .default(30)
    .describe("How long a usage limit is waited out before another agent goes on; only with `fallback`."),
  relay_back: z
    .enum(["phase", "handover"])
    .default("phase")
    .describe(
      "When the agent that was chosen takes over again: with the next phase, or as soon as it is back, at the next handover.",
    ),
  accounts: z
    .record(
      z.string().regex(/^[\w-]+$/),
      z.strictObject({
        agent: agentName,
        home: z.string().min(1).optional(),
        env: z.record(z.string().regex(/^\w+$/), z.string().regex(/^\w+$/)).optional(),
      }),
    )
    .optional()
    .describe(
      "More accounts of an agent, by names that can stand wherever an agent's does: `home` is another folder for its login and settings, `env` names, for each variable that it is to get, the variable of yours that holds the value (never the value itself).",
    ),
  permission_mode: permissionLevel
    .optional()
    .describe(
      "What the agent may do without asking. Nobody is there to answer, so a run needs a choice: `all` allows everything, `edits` allows edits and refuses the rest, `listed` allows only what your agent's settings list, `auto` lets the agent's own classifier decide. Claude Code's words (`bypassPermissions`, `acceptEdits`, `dontAsk`) mean the first three.",
    ),
  context_limit: z
    .int()
    .min(1_000)
    .max(10_000_000)
    .optional()
    .describe("Caps the context window, in tokens; the smaller of this and the agent's window counts."),
  context_policy: z
    .enum(POLICIES)
    .default("restart")
    .describe(
      "What happens at the threshold: `restart` hands over to a fresh session, `ask` asks a person, `stop` saves a checkpoint and stops, `observe` only warns and leaves the agent to compact.",
    ),
  context_soft: z
    .union([z.number().min(1).max(100), z.literal("auto"), z.literal("off")])
    .default("auto")
    .describe(
      "When a session is handed over at a natural boundary (a task reported done, a commit, a gate's command passed): `auto` where that is cheaper than going on, in dollars of the model in use; or from a percentage of the window on; `off` never. `off` is the default where `context_threshold` is set.",
    ),
  context_max_tokens: z
    .union([z.int().min(1_000).max(10_000_000), z.literal("off")])
    .default(DEFAULT_CAP)
    .describe(
      "Tokens at which a session is handed over whatever the window is: long contexts cost more and are worked in less well. `off` is the default where `context_threshold` is set.",
    ),
  context_threshold: z
    .number()
    .min(1)
    .max(100)
    .default(80)
    .describe("Percent of the window at which a session is handed over; 100 switches handovers off."),
  context_restart_threshold: z
    .number()
    .gt(0)
    .max(2)
    .optional()
    .describe(
      "Another name for `context_threshold`, as a ratio: 0.8 is 80 percent; 1 and above switch handovers off. Only one of the two may be set.",
    ),
  context_warn: z
    .array(z.number().min(1).max(100))
    .max(10)
    .default([70, 90])
    .describe("Percentages of the window at which a session is warned about, once each."),
  tool_call_threshold: z
    .int()
    .min(1)
    .max(100_000)
    .default(100)
    .describe("Tool calls after which a session is handed over, only while the agent reports no usage at all."),
  ask_default: z
    .enum(["stop", "continue", "force"])
    .default("stop")
    .describe("What counts under `context_policy: ask` when nobody answers in time, or answers something else."),
  ask_timeout_minutes: z
    .number()
    .min(0.01)
    .max(10_080)
    .default(60)
    .describe("How long a question waits for an answer."),
  prompt_budget: z
    .union([
      z.int().min(500).max(1_000_000),
      z.string().regex(/^\d+(\.\d+)?%$/, "it must be tokens, or a percentage like 5%"),
    ])
    .default(7_500)
    .describe("The most that Segno itself says in a prompt: tokens, or a percentage of the window (`5%`)."),
  budget_strategy: z
    .enum(["fixed", "dynamic", "reserve"])
    .default("fixed")
    .describe(
      "How much of `prompt_budget` a phase's prompt may fill with what other phases did: all of it (`fixed`), by its complexity (`dynamic`: simple 5, medium 8, complex 12 of 12; by its own word, else by the number of tasks and files), or 60 %, with 20 % more for repairs and 20 % held back (`reserve`). Rules, the phase's own text and its checkpoint are never cut.",
    ),
  pruning: z
    .enum(["auto", "aggressive", "moderate", "minimal"])
    .default("auto")
    .describe(
      "What later prompts keep of a finished phase: its metadata, also a summary, or all it said. `auto`: aggressive with more than 3 phases, else moderate; minimal in repairs.",
    ),
  checkpoint_tokens: z
    .int()
    .min(300)
    .max(100_000)
    .default(2_000)
    .describe(
      "The most tokens a checkpoint takes in the next prompt; longer lists are cut, with a count of what was left out.",
    ),
  checkpoint_slots: z.int().min(1).max(100).default(3).describe("How many checkpoints of a phase are kept."),
  checkpoint_timeout_seconds: z
    .number()
    .min(1)
    .max(3_600)
    .default(180)
    .describe("How long a session may take to hand over; after that the ledger alone serves."),
  stuck_repeats: z
    .int()
    .min(0)
    .max(1_000)
    .default(4)
    .describe(
      "The same tool call with the same result, this often and with no edit in between, counts as going round in circles; 0 switches it off.",
    ),
  stuck_errors: z
    .int()
    .min(0)
    .max(1_000)
    .default(3)
    .describe(
      "The same error, this often and with no edit in between, counts as going round in circles; 0 switches it off.",
    ),
  stuck_limit: z
    .int()
    .min(0)
    .max(1_000)
    .default(3)
    .describe(
      "How often a phase may go round in circles without a finished task: first it is warned of, then its session is ended and the next one waits, at this number it fails; 0 switches it off.",
    ),
  stuck_backoff_seconds: z
    .number()
    .min(0)
    .max(86_400)
    .default(30)
    .describe("How long a phase that went round in circles waits before its next session; doubled each time."),
  max_tokens: z
    .int()
    .min(1_000)
    .max(1_000_000_000_000)
    .default(2_000_000_000)
    .describe("Tokens a run may use in all, cached ones and sub-agents' included."),
  max_cost_usd: z
    .number()
    .min(0)
    .max(1_000_000)
    .default(250)
    .describe("What a run may cost at list prices, in dollars."),
  max_hours: z
    .number()
    .min(0.01)
    .max(10_000)
    .default(72)
    .describe(
      "Hours a run may work in all; time in which the machine slept or the run was interrupted does not count.",
    ),
  max_restarts: z
    .int()
    .min(0)
    .max(1_000)
    .default(3)
    .describe("Handovers in a row without a newly finished task before a phase fails; 0 switches handovers off."),
  restart_backoff_seconds: z
    .number()
    .min(0)
    .max(3_600)
    .default(0)
    .describe(
      "How long to wait after a handover that brought no finished task, before the next session; doubled each time in a row. 0: not at all.",
    ),
  max_sessions_per_phase: z.int().min(1).max(10_000).default(50).describe("The most sessions one phase may use."),
  max_remediations: z
    .int()
    .min(0)
    .max(100)
    .default(3)
    .describe("Sessions that may try to repair failing gates before a phase fails."),
  auto_commit: z
    .boolean()
    .default(true)
    .describe("Commit each phase and before each handover; if false, snapshots are kept under `refs/segno/` only."),
  commit_on_failure: z.boolean().default(false).describe("Commit what a failed phase leaves, marked as partial."),
  commit_message_template: z
    .string()
    .min(1)
    .max(500)
    .regex(
      /^(?:[^{}]|\{(?:phase_id|phase_name|status)\})*$/,
      "it may hold only the placeholders {phase_id}, {phase_name} and {status}",
    )
    .default("Segno: Phase {phase_id} - {phase_name} {status}")
    .describe(
      "The first line of a commit; `{phase_id}`, `{phase_name}` and `{status}` (`✓` or `⚠️ partial`) are filled in.",
    ),
  branch: z
    .string()
    .min(1)
    .max(200)
    .default("current")
    .describe(
      "The branch to work on: `current`, `auto` (a new one named after the plan), or a name (made if it is not there).",
    ),
  workspace: z
    .enum(["checkout", "worktree"])
    .default("checkout")
    .describe(
      "Where agents work: in your checkout, or in a worktree of its own outside the repository, on a branch of its own, so that you can go on working in yours.",
    ),
  max_file_mb: z
    .number()
    .min(0.01)
    .max(10_000)
    .default(10)
    .describe("Files larger than this are not committed: the agent is asked to take them out."),
  max_binary_mb: z
    .number()
    .min(0.01)
    .max(10_000)
    .default(1)
    .describe("Binary files larger than this are not committed."),
  resume_window_hours: z
    .number()
    .min(0)
    .max(8_760)
    .default(24)
    .describe(
      "An interrupted run younger than this is taken up again by `segno run`; an older one only by `segno resume`.",
    ),
  test_command: z
    .string()
    .min(1)
    .optional()
    .describe("A command that is a gate of every phase, for plans that name none."),
  gates: z
    .record(z.string().min(1), z.string().min(1))
    .default({})
    .describe("Commands for gates that the plan only names, or `manual` for those a person must judge."),
  project_gates: z
    .record(z.string().min(1), z.string().min(1))
    .default({})
    .describe(
      "Gates of every phase that has no command of its own to judge it, by name: the project's own checks. `segno init` writes what it finds.",
    ),
  gates_found: z
    .enum(["use", "ask", "off"])
    .default("use")
    .describe(
      "Where neither the plan nor the configuration has a gate: `use` the tests, type check and lint that the project's manifests name, as far as they pass before the first phase; `ask` which of the found commands to use, at a terminal; or `off`.",
    ),
  tag: z
    .string()
    .min(1)
    .optional()
    .describe("Which list of tasks of a file that holds several (Task Master's tags); its own current one if not set."),
  optional_tasks: z
    .boolean()
    .default(false)
    .describe("Do the tasks, too, that a plan calls optional (Kiro's `[ ]*`); else they are only shown."),
  sub_phases: z
    .enum(["together", "separate"])
    .default("together")
    .describe(
      "Whether sub-phases inside a phase file (`### Sub-Phase 6A: …`) run as one phase or as phases of their own.",
    ),
  parallel: z
    .number()
    .int()
    .min(1)
    .max(32)
    .default(1)
    .describe(
      "How many independent phases are worked on at once, each in a worktree of its own outside the repository, and merged one by one.",
    ),
  merge_gates: z
    .enum(["shared", "all"])
    .default("shared")
    .describe(
      "Which gates judge a merged state, beside the phase's own: those of merged phases that changed the same files, or of all merged phases.",
    ),
  split: z
    .enum(["auto", "ask", "off"])
    .default("auto")
    .describe("Whether a phase that is too large is split into sub-phases: at once, after a question, or never."),
  split_parallel: z
    .number()
    .int()
    .min(1)
    .max(32)
    .default(3)
    .describe("How many sub-phases of one phase are worked on at once, whatever `parallel` is."),
  max_split_depth: z.number().int().min(0).max(5).default(2).describe("How often sub-phases may be split again."),
  gates_fail_fast: z
    .boolean()
    .default(false)
    .describe("Stop at the first gate that fails, instead of running them all."),
  gates_on: z
    .enum(["tree", "clean"])
    .default("tree")
    .describe(
      "Where gates run: in the working tree, or on a clean checkout of what would be committed, so that files the agent did not commit cannot help.",
    ),
  gates_before: z
    .boolean()
    .default(true)
    .describe(
      "Run the gates once before the first phase: those that are red already are reported, and gates that must not decrease are compared with it.",
    ),
  worktree_setup: z
    .string()
    .min(1)
    .optional()
    .describe(
      "A command that prepares a fresh checkout (installing dependencies, copying ignored files); `SEGNO_CHECKOUT` is the main one.",
    ),
  suspicious: z
    .enum(["note", "ask", "fail", "warn"])
    .default("ask")
    .describe(
      "What happens when a phase passes in a way that looks wrong: a gate far faster than usual, nothing changed at all, tests deleted or skipped, a gate's own script, test command, settings or threshold changed. `note` (or `warn`) says it; `ask` also asks the agent, in the same session, to take back or explain what undermines the gates; `fail` fails the phase.",
    ),
  verify: z
    .enum(["ungated", "agent", "off"])
    .default("ungated")
    .describe(
      "Who judges a phase beside its gates: a fresh session that sees only its acceptance criteria (or its tasks, where it has none) and the diff. `ungated`: phases without a gate; `agent`: every phase (`--quality` sets it for a run); `off`: none, and a phase without a gate is done, not verified.",
    ),
  on_failure: z
    .enum(["continue", "stop"])
    .default("continue")
    .describe("After a failed phase: go on with phases that do not depend on it, or stop."),
  checkpoint_every: z
    .int()
    .min(0)
    .max(1_000)
    .default(0)
    .describe("Ask a person to go on after every so many phases; 0 never asks."),
  on_usage_limit: z
    .enum(["wait", "stop"])
    .default("wait")
    .describe("At a usage limit: wait until it is lifted, or stop."),
  api_retries: z
    .int()
    .min(0)
    .max(1_000)
    .default(6)
    .describe("How often a session is taken up again after API errors in a row, on top of the agent's own retries."),
  api_backoff_seconds: z
    .number()
    .min(0)
    .max(3_600)
    .default(10)
    .describe("How long to wait after an API error; doubled each time, up to ten minutes, with some chance in it."),
  idle_timeout_minutes: z
    .number()
    .min(0.01)
    .max(1_440)
    .default(15)
    .describe("How long an agent may show no sign of life while none of its tools runs."),
  tool_timeout_minutes: z
    .number()
    .min(0.01)
    .max(10_080)
    .default(60)
    .describe("How long one tool call of the agent may take."),
  phase_timeout_minutes: z
    .number()
    .min(0.01)
    .max(100_000)
    .default(1_440)
    .describe(
      "How long one attempt of a phase may take; time in which the machine slept or the run was interrupted does not count.",
    ),
  max_timeouts: z
    .int()
    .min(0)
    .max(100)
    .default(3)
    .describe("How often sessions of a phase may be ended for a time-out before it fails."),
  sandbox: z
    .boolean()
    .default(false)
    .describe("Let the agent run its shell commands in its own sandbox, where the agent has one."),
  allowed_tools: z
    .array(z.string().min(1))
    .default([])
    .describe("Tools the agent may use without a permission, in the agent's own notation."),
  denied_tools: z
    .array(z.string().min(1))
    .default([])
    .describe("Tools the agent may not use, in the agent's own notation."),
  notify: z
    .array(notifier)
    .default([])
    .describe(
      "Whom to tell: a list of entries with `on` (question, failed, finished, limit; default all) and one of `command` (gets `SEGNO_EVENT`, `SEGNO_TITLE`, `SEGNO_MESSAGE` and JSON on its input), `webhook` (an address that gets JSON), `ntfy` (a topic's address) or `desktop: true`.",
    ),
  max_new_bytes: z
    .int()
    .min(1_000_000)
    .default(2_000_000_000)
    .describe(
      "How much a phase may write into its checkout, in bytes, ignored files included; above it, and when less than 200 MB of the disk are left, the run is stopped with a checkpoint.",
    ),
  handoff_dir: z
    .string()
    .min(1)
    .regex(/^(?!\/|.*\.\.)/, "it must be a folder inside the repository")
    .optional()
    .describe(
      "Where a phase that cannot go on leaves its HANDOFF file: a folder of the repository, or `phase` for the folder of the phase's own file. It is committed there, so that another clone can go on from it. Not set: `.segno/`, which is not committed.",
    ),
  revive: z
    .boolean()
    .default(true)
    .describe(
      "Whether a run goes on by itself after its process was killed or crashed: at most three times in ten minutes, never after a stop.",
    ),
  env_deny: z
    .array(z.string().min(1))
    .default([])
    .describe("Variables that are not passed to the agent and to gates; `*` stands for any characters."),
  gate_timeout_minutes: z.number().min(0.01).max(1_440).default(15).describe("How long one gate may run."),
});

export type Config = z.infer<typeof configSchema>;
export type Notifier = z.infer<typeof notifier>;
