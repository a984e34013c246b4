/** What the agent can call. Each tool says in its description when to use it; bad input gets an answer to act on. */
import { z } from "zod";
import { FAILURE_CATEGORIES, RECOMMENDATIONS, STATUSES } from "../run/outcome.js";

const list = z.array(z.string().max(2_000)).max(500);

export const toolSchemas = {
  progress: z.object({
    message: z.string().min(1).max(2_000).describe("What is finished now, in one line."),
    task: z.string().max(200).optional().describe("The id of the task that is finished, as the task list shows it."),
  }),
  decision: z.object({
    text: z.string().min(1).max(4_000).describe("A decision or constraint that later work must respect, and why."),
  }),
  checkpoint: z.object({
    goal: z.string().min(1).max(2_000).describe("The goal, in two sentences at most."),
    completed: list.describe("Completed work: one entry per file, what changed in it."),
    remaining: list.describe("What is left to do, in order, with task ids."),
    do_not_redo: list.describe("What is finished and must not be repeated."),
    decisions: list.describe("Decisions and constraints the next session must respect."),
  }),
  verdict: z.object({
    criteria: z
      .array(
        z.object({
          criterion: z.string().min(1).max(2_000).describe("The criterion, as it is written, or its number."),
          verdict: z.enum(["pass", "fail"]),
          evidence: z.string().max(2_000).describe("file:line of what shows it. A pass without it counts as a fail."),
          why: z.string().max(2_000).describe("One sentence."),
        }),
      )
      .max(200),
  }),
  phase_result: z.object({
    status: z.enum(STATUSES).describe("How the phase ended."),
    summary: z.string().min(1).max(4_000).describe("At most 50 words."),
    tasks_completed: list.describe("Ids of all completed tasks."),
    tasks_remaining: list.describe("Ids of tasks that are not completed."),
    files_modified: list,
    decisions: list,
    failure_category: z.enum(FAILURE_CATEGORIES).optional(),
    recommendation: z.enum(RECOMMENDATIONS).optional(),
    explanation: z
      .string()
      .max(4_000)
      .optional()
      .describe("Only where you were asked: why tests, gates or their settings had to be changed."),
    split_details: z
      .object({
        reason: z.string().min(1).max(2_000),
        recommended_sub_phases: z
          .array(
            z.object({
              title: z.string().min(1).max(300),
              tasks: list,
              depends_on: list
                .optional()
                .describe("Titles of sub-phases that must be done before this one; left out, it begins at once."),
            }),
          )
          .max(20),
      })
      .optional()
      .describe("With status split_request: why, and into which parts."),
  }),
};

export type ToolName = keyof typeof toolSchemas;
export type ToolInput<N extends ToolName> = z.infer<(typeof toolSchemas)[N]>;
export const TOOL_NAMES = Object.keys(toolSchemas) as ToolName[];

const DESCRIPTIONS: Record<ToolName, string> = {
  progress:
    "Report a finished task or step. Call it in the same message as your next tool call, never in a turn of its own. What is not reported may be done again after a handover.",
  decision:
    "Record a decision or constraint that later sessions must respect. Call it in the same message as your next tool call.",
  checkpoint: "Hand over to the next session. Call it only when you are asked for a checkpoint, and then stop.",
  verdict: "Only in a session that verifies a phase: hand in what you found, criterion by criterion, and then stop.",
  phase_result:
    "End the phase. Call it once, when all tasks are done or the phase cannot go on; then stop. The gates are run afterwards, by Segno.",
};

/** What the agent hears when it calls another tool while only these may be used. */
export const ONLY_SEGNO_TOOLS = "Only Segno's own tools can be used now: answer the request with them, then stop.";

/** What one call answers to the model. */
export interface ToolAnswer {
  text: string;
  isError: boolean;
}

/** Well-formed, but it makes no sense: the message says what to do. */
export class ToolRefusal extends Error {}

/** Each answers when what it was given is kept. */
export type ToolHandlers = { [N in ToolName]: (input: ToolInput<N>) => Promise<string> };

export interface SegnoTools {
  list: { name: ToolName; description: string; inputSchema: Record<string, unknown> }[];
  call(name: string, input: unknown): Promise<ToolAnswer>;
}

/** The same tools, for whoever has to know that one of them was called. */
export const noticed = (tools: SegnoTools, called: () => void): SegnoTools => ({
  ...tools,
  call: (name, input) => {
    called();
    return tools.call(name, input);
  },
});

export function segnoTools(handlers: ToolHandlers): SegnoTools {
  return {
    list: TOOL_NAMES.map((name) => {
      const { $schema: _, ...inputSchema } = z.toJSONSchema(toolSchemas[name]) as Record<string, unknown>;
      return { name, description: DESCRIPTIONS[name], inputSchema };
    }),
    call: async (name, input) => {
      if (!isToolName(name))
        return { text: `There is no tool ${name}. Tools: ${TOOL_NAMES.join(", ")}.`, isError: true };
      return callTool(name, input, handlers);
    },
  };
}

async function callTool<N extends ToolName>(name: N, input: unknown, handlers: ToolHandlers): Promise<ToolAnswer> {
  const parsed = toolSchemas[name].safeParse(input);
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => `- ${issue.path.join(".") || "input"}: ${issue.message}`);
    return {
      text: `Nothing was recorded: the input of ${name} is not valid.\n${problems.join("\n")}\nCorrect it and call ${name} again.`,
      isError: true,
    };
  }
  try {
    return { text: await handlers[name](parsed.data as ToolInput<N>), isError: false };
  } catch (error) {
    if (error instanceof ToolRefusal) return { text: error.message, isError: true };
    throw error;
  }
}

const isToolName = (name: string): name is ToolName => name in toolSchemas;
