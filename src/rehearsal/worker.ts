/**
 * The stand-in worker. It knows only what its request contains: it finds the tasks in its prompt, does the next one
 * that the conversation does not show as done, reports it together with the next tool call, and ends with a result.
 * So it redoes work that a handover forgot: that makes it an honest judge of handovers.
 */

import { createHash } from "node:crypto";
import { dirname } from "node:path";
import type { ToolName } from "../tools/tools.js";
import { commentIn, newFile } from "./comment.js";
import { type Conversation, type GivenTask, isCallOf, kindsIn, readConversation, segnoTool } from "./conversation.js";
import { call, message, type Reply, type ReplyBlock, say } from "./reply.js";
import { lastTexts, type ModelRequest, userTexts } from "./request.js";

export interface WorkerOptions {
  /** How many characters of tool output each task brings into the context. */
  charsPerTask: number;
  /** The share of finished tasks that its summary of a compacted conversation still knows; 1 if not set. */
  remembers?: number;
  /** Called for each task as it is done, with the session's own conversation still unanswered. */
  onTask: (done: { phase: string; task: string }) => void;
  /** Called where nothing of a task was done after all: every call that was made for it was refused. */
  onRefused: (task: { phase: string; task: string }) => void;
}

export function worker(options: WorkerOptions): (request: ModelRequest) => Reply {
  return (request) => {
    const conversation = readConversation(request);
    const review = userTexts(request).find((text) => kindsIn(text).includes("verify"));
    if (review !== undefined && segnoTool(conversation, "verdict") !== undefined) return judge(conversation, review);
    // Titles and the like: the agent's own small questions.
    if (!conversation.tools.has("Bash") || conversation.phase === "") return message(say("ok"));
    const asked = lastTexts(request).join("\n");
    if (asked.includes("create a detailed summary of the conversation")) return summary(conversation, options);
    if (conversation.turns.at(-1)?.calls.some((made) => isCallOf(made, "checkpoint")))
      return message(say("Handed over."));
    if (kindsIn(asked).includes("checkpoint")) {
      const refused = refusedTask(conversation);
      if (refused !== undefined) options.onRefused({ phase: conversation.phase, task: refused });
      return checkpoint(conversation);
    }
    if (kindsIn(conversation.prompt).includes("merge")) return bringTogether(conversation);
    const repairs = readFailingGates(conversation);
    if (repairs.length > 0) return repair(conversation, repairs);
    return work(conversation, options);
  };
}

const IN_THE_WAY = /^(?:File|Path) .*already exists/i;
const CLEARING = /^(?:rm -f|mkdir -p) '/;
const NO_FOLDER = /^Parent directory .* does not exist/;
const OPENING = /^Task (\S+):/;

/** Tasks whose work this conversation shows, reported or not: its own calls, or those it is told were seen to finish. */
function actedTasks({ turns, tasks, prompt, phase, seen }: Conversation): Set<string> {
  const acted = turns.filter((turn) =>
    turn.calls.some((made) => made.name === "Write" && made.result?.isError === false),
  );
  const told = tasks
    .filter((task) => seen.includes(`Write ${fileOfTask(prompt, phase, task).path}`))
    .map((task) => task.id);
  return new Set([...told, ...acted.flatMap((turn) => OPENING.exec(turn.text)?.[1] ?? [])]);
}

/** The task that the last message began, if none of its calls was carried out. */
function refusedTask({ turns }: Conversation): string | undefined {
  const last = turns.at(-1);
  const own = last?.calls.filter(({ name }) => name === "Bash" || name === "Write") ?? [];
  return own.length > 0 && own.every(({ result }) => result?.isError === true)
    ? OPENING.exec(last?.text ?? "")?.[1]
    : undefined;
}

function reportedTasks({ turns, tasks }: Conversation): Set<string> {
  const reports = turns.flatMap((turn) => turn.calls).filter((made) => isCallOf(made, "progress"));
  return new Set([
    ...tasks.filter((task) => task.done).map((task) => task.id),
    ...reports.filter((made) => made.result?.isError !== true).map((made) => String(made.input.task)),
  ]);
}

function work(conversation: Conversation, options: WorkerOptions): Reply {
  const { turns, tasks, phase } = conversation;
  if (hasResult(conversation)) return message(say("The phase is finished."));
  const reported = reportedTasks(conversation);
  const acted = actedTasks(conversation);
  const reports =
    segnoTool(conversation, "progress") !== undefined
      ? [...acted].filter((id) => !reported.has(id)).map((id) => progress(conversation, id))
      : [];
  const next = tasks.find((task) => !reported.has(task.id) && !acted.has(task.id));
  if (next === undefined) {
    const ends = segnoTool(conversation, "phase_result") !== undefined ? [...reports, result(conversation)] : [];
    return message(say("All tasks are done."), ...ends);
  }
  const last = turns.at(-1);
  const refused = last?.calls.find((made) => made.name === "Write" && made.result?.isError === true);
  // Copilot makes no folders for a file.
  if (refused !== undefined && NO_FOLDER.test(refused.result?.text ?? ""))
    return message(
      say("Its folder is missing: making it first."),
      call("Bash", { command: `mkdir -p '${dirname(String(refused.input.file_path))}'`, description: "Make a folder" }),
    );
  // And it overwrites none.
  if (refused !== undefined && IN_THE_WAY.test(refused.result?.text ?? ""))
    return message(
      say("It is in the way: taking it away first."),
      call("Bash", { command: `rm -f '${String(refused.input.file_path)}'`, description: "Take it away" }),
    );
  // Claude Code wants an existing file to be read before it is overwritten.
  if (refused !== undefined && OPENING.exec(last?.text ?? "")?.[1] === next.id) {
    return message(
      say(`The file exists: reading it first.`),
      call("Read", { file_path: String(refused.input.file_path) }),
    );
  }
  // Real sources are not overwritten: they get a line that leaves them valid, and the task a file of its own.
  const { path, content, given } = fileOfTask(conversation.prompt, phase, next);
  const found = last?.calls.find((made) => made.name === "Read" && made.input.file_path === path)?.result?.text;
  if (!given && found !== undefined && !found.includes(content.trim()))
    return message(say(`Task ${next.id}: ${next.title}`), ...reports, ...beside(phase, next, path));
  const begun = turns.some((turn) => OPENING.exec(turn.text)?.[1] === next.id);
  if (!begun) options.onTask({ phase, task: next.id });
  // Only what was refused is done again.
  const cleared = last?.calls.some((made) => made.name === "Bash" && CLEARING.test(String(made.input.command)));
  const rest = cleared === true ? { ...options, charsPerTask: 0 } : options;
  return message(say(`Task ${next.id}: ${next.title}`), ...reports, ...doTask(conversation, next, rest));
}

function doTask({ prompt, phase }: Conversation, task: GivenTask, { charsPerTask }: WorkerOptions): ReplyBlock[] {
  const { path, content } = fileOfTask(prompt, phase, task);
  const blocks =
    charsPerTask > 0
      ? [call("Bash", { command: noise(task.id, charsPerTask), description: `Look around for task ${task.id}` })]
      : [];
  return [...blocks, call("Write", { file_path: path, content })];
}

function beside(phase: string, task: GivenTask, path: string): ReplyBlock[] {
  const text = `Task ${task.id} of phase ${phase}, rehearsed`;
  const line = commentIn(path, text);
  const own = call("Write", { file_path: ownFile(phase, task), content: `${text}: ${task.title}\n` });
  if (line === undefined) return [own];
  const command = `printf '\\n%s\\n' '${line.replaceAll("'", "")}' >> '${path}'`;
  return [call("Bash", { command, description: `Touch ${path}` }), own];
}

const ownFile = (phase: string, task: GivenTask): string => `segno-rehearsal/phase-${phase}-task-${task.id}.md`;

/** A command with an output of about this many characters, in lines like a build log's. */
function noise(task: string, chars: number): string {
  const lines = Math.max(1, Math.round(chars / 80));
  // No substitution in it: Gemini CLI refuses commands that have one.
  return `awk 'BEGIN { for (i = 1; i <= ${lines}; i++) printf "task ${task} line %05d: compiled module, checked types, resolved 12 imports.\\n", i }'`;
}

/** The file a task names in backticks, with the code block that follows it, if the plan gives one. */
function fileOfTask(
  prompt: string,
  phase: string,
  task: GivenTask,
): { path: string; content: string /** The plan says what is in it. */; given: boolean } {
  const lines = prompt.split("\n");
  const start = lines.findLastIndex(
    (line) => /^\s*- \[[ x]\]/.test(line) && line.includes(task.title) && line.includes("`"),
  );
  const named = start < 0 ? undefined : /`([\w./-]+\.\w+)`/.exec(lines[start] as string)?.[1];
  const path = named ?? ownFile(phase, task);
  const rest = start < 0 ? [] : lines.slice(start + 1);
  const end = rest.findIndex((line) => /^\s*- \[[ x]\]|^#/.test(line));
  const own = end < 0 ? rest : rest.slice(0, end);
  const open = own.findIndex((line) => /^\s*```/.test(line));
  const close = own.findIndex((line, index) => index > open && /^\s*```\s*$/.test(line));
  if (open < 0 || close < 0)
    return { path, content: newFile(path, `Task ${task.id} of phase ${phase}: ${task.title}`), given: false };
  const indent = /^\s*/.exec(own[open] as string)?.[0].length ?? 0;
  return {
    path,
    given: true,
    content: `${own
      .slice(open + 1, close)
      .map((line) => line.slice(indent))
      .join("\n")}\n`,
  };
}

const progress = (conversation: Conversation, id: string): ReplyBlock => {
  const title = conversation.tasks.find((task) => task.id === id)?.title ?? id;
  return report(conversation, "progress", { task: id, message: `Done: ${title}` });
};

/** A call of one of Segno's tools, by the name it has here. */
const report = (conversation: Conversation, tool: ToolName, input: Record<string, unknown>): ReplyBlock =>
  call(segnoTool(conversation, tool) ?? tool, input);

const hasResult = ({ turns }: Conversation): boolean =>
  turns.some((turn) => turn.calls.some((made) => isCallOf(made, "phase_result") && made.result?.isError !== true));

function result(conversation: Conversation): ReplyBlock {
  const { tasks, turns } = conversation;
  return report(conversation, "phase_result", {
    status: "completed",
    summary: `All ${tasks.length} tasks are done.`,
    tasks_completed: tasks.map((task) => task.id),
    tasks_remaining: [],
    files_modified: writtenFiles(turns),
    decisions: [],
  });
}

const writtenFiles = (turns: Conversation["turns"]): string[] => [
  ...new Set(
    turns
      .flatMap((turn) => turn.calls)
      .filter((made) => made.name === "Write")
      .map((made) => String(made.input.file_path)),
  ),
];

function checkpoint(conversation: Conversation): Reply {
  const { tasks, turns } = conversation;
  const reported = reportedTasks(conversation);
  const acted = actedTasks(conversation);
  const done = tasks.filter((task) => reported.has(task.id) || acted.has(task.id));
  const reports = done.filter((task) => !reported.has(task.id)).map((task) => progress(conversation, task.id));
  if (done.length === tasks.length && tasks.length > 0) return message(...reports, result(conversation));
  return message(
    ...reports,
    report(conversation, "checkpoint", {
      goal: `Carry out phase ${conversation.phase} with its ${tasks.length} tasks.`,
      completed: writtenFiles(turns).map((file) => `${file}: written`),
      remaining: tasks.filter((task) => !done.includes(task)).map((task) => `${task.id} ${task.title}`),
      do_not_redo: done.map((task) => `${task.id} ${task.title}`),
      decisions: [],
    }),
  );
}

/** Judges every criterion as met, on the evidence of the first file that the change shows. */
function judge(conversation: Conversation, review: string): Reply {
  if (conversation.turns.some((turn) => turn.calls.length > 0)) return message(say("Judged."));
  const section = review.split("## Acceptance criteria")[1]?.split("## The change")[0] ?? "";
  const criteria = [...section.matchAll(/^\d+\. (.+)$/gm)].map(([, criterion]) => criterion as string);
  const file = /^\+\+\+ b\/(.+)$/m.exec(review)?.[1] ?? "README.md";
  const judged = criteria.map((criterion) => ({
    criterion,
    verdict: "pass",
    evidence: `${file}:1`,
    why: "It is there.",
  }));
  return message(report(conversation, "verdict", { criteria: judged }));
}

/** What is left of a conversation that the agent compacts: the prompt, with the finished tasks it remembers marked. */
function summary(conversation: Conversation, { remembers = 1 }: WorkerOptions): Reply {
  const done = new Set([...reportedTasks(conversation), ...actedTasks(conversation)]);
  const prompt = conversation.prompt.replaceAll(/^- \[[ x]\] (\S+) /gm, (line, id: string) => {
    const known = done.has(id) && shareOf(id) < remembers;
    return known ? `- [x] ${id} ` : line.replace("[x]", "[ ]");
  });
  return message(say(`<analysis>The tasks are listed below.</analysis>\n<summary>\n${prompt}\n</summary>`));
}

/** A number from 0 to 1 that is always the same for the same task. */
function shareOf(id: string): number {
  return createHash("sha256").update(id).digest().readUInt32BE(0) / 2 ** 32;
}

/** Commands of gates that failed, as the prompt shows them. */
function readFailingGates({ prompt }: Conversation): string[] {
  const section = prompt.split(/^## Failing gates$/m)[1]?.split(/^#{1,2} /m)[0] ?? "";
  return [...section.matchAll(/^Command: `(.+)`$/gm)].map(([, command]) => command as string);
}

const KEEP_BOTH =
  'for f in $FILES; do awk \'/^<<<<<<< /{next} /^\\|\\|\\|\\|\\|\\|\\| /{base=1;next} /^=======$/{base=0;next} /^>>>>>>> /{next} !base{print}\' "$f" > "$f.merged" && mv "$f.merged" "$f"; done';

/** Keeps both sides of every conflict, then repairs what it can. */
function bringTogether(conversation: Conversation): Reply {
  const section = conversation.prompt.split(/^## Conflicts$/m)[1]?.split(/^#{1,2} /m)[0] ?? "";
  const files = [...section.matchAll(/^- (\S+)$/gm)].map(([, file]) => file as string);
  const begun = conversation.turns.some((turn) => turn.calls.some((made) => made.name === "Bash"));
  if (files.length === 0 || begun) return repair(conversation, readFailingGates(conversation));
  const command = `FILES="${files.join(" ")}"; ${KEEP_BOTH}`;
  return message(say("Keeping both sides."), call("Bash", { command, description: "Resolve the conflicts" }));
}

/** Repairs what it can: a gate that misses a file gets it. */
function repair(conversation: Conversation, commands: readonly string[]): Reply {
  if (hasResult(conversation)) return message(say("The repair is finished."));
  const files = commands.flatMap((command) => /^test -f (\S+)$/.exec(command)?.[1] ?? []);
  const written = new Set(writtenFiles(conversation.turns));
  const missing = files.filter((file) => !written.has(file));
  if (missing.length === 0) return message(say("Repaired what can be repaired."), result(conversation));
  return message(
    say("Writing what the gates miss."),
    ...missing.map((file) => call("Write", { file_path: file, content: "repaired\n" })),
  );
}
