/** What a conversation shows: the tasks it was given, and which of them it shows as done. */
import type { ToolName } from "../tools/tools.js";
import { blocksOf, type ModelRequest, resultText, userTexts } from "./request.js";

export interface GivenTask {
  id: string;
  title: string;
  done: boolean;
}

export interface ToolCall {
  name: string;
  input: Record<string, unknown>;
  /** Undefined while no result came back. */
  result: { text: string; isError: boolean } | undefined;
}

/** One message of the model, with what came of its tool calls. */
export interface ModelTurn {
  text: string;
  calls: ToolCall[];
}

export interface Conversation {
  phase: string;
  tasks: GivenTask[];
  prompt: string;
  /** Tool calls that Segno says it saw finish, as it wrote them. */
  seen: string[];
  turns: ModelTurn[];
  /** Names of the tools it may call. */
  tools: Set<string>;
}

export function readConversation(request: ModelRequest): Conversation {
  const texts = userTexts(request);
  const prompt = texts.find((text) => /^# Phase \S+:/m.test(text)) ?? "";
  // A conversation that was cut off is told how its tasks stand: its own memory may have lost the last of it.
  const told = new Set(texts.flatMap(readTasks).flatMap(({ id, done }) => (done ? [id] : [])));
  return {
    phase: /^# Phase (\S+?):/m.exec(prompt)?.[1] ?? "",
    tasks: readTasks(prompt).map((task) => ({ ...task, done: task.done || told.has(task.id) })),
    prompt,
    seen: texts.flatMap(readSeen),
    turns: readTurns(request),
    tools: new Set((request.tools ?? []).map((tool) => tool.name)),
  };
}

/** A list of states, or the phase's own text with its boxes, each with the id of its task. */
function readTasks(prompt: string): GivenTask[] {
  const listed = prompt.split(/^## State of the tasks$/m)[1]?.split(/^## /m)[0];
  const section =
    listed ?? prompt.split(/^## The phase as the user wrote it .*, its tasks as they stand now$/m)[1] ?? "";
  const BOX = /^\s*(?:[-*+]|\d+[.)])\s+\[([ x])\] ((?=\S*\d)[\w.-]+) (.*)$/gm;
  return [...section.matchAll(BOX)].map(([, mark, id, title]) => ({
    id: id as string,
    title: title as string,
    done: mark === "x",
  }));
}

function readSeen(text: string): string[] {
  const section = text.split(/^Tool calls that finished after the last report.*$/m)[1]?.split(/\n\n/)[0] ?? "";
  return [...section.matchAll(/^- (.+)$/gm)].map(([, call]) => call as string);
}

function readTurns(request: ModelRequest): ModelTurn[] {
  const calls = new Map<string, ToolCall>();
  const turns: ModelTurn[] = [];
  for (const message of request.messages) {
    const turn: ModelTurn = { text: "", calls: [] };
    for (const block of blocksOf(message)) {
      if (block.type === "text" && message.role === "assistant") turn.text += block.text;
      if (block.type === "tool_use") {
        const call: ToolCall = { name: block.name, input: block.input, result: undefined };
        calls.set(block.id, call);
        turn.calls.push(call);
      }
      if (block.type === "tool_result") {
        const call = calls.get(block.tool_use_id);
        if (call !== undefined) call.result = { text: resultText(block), isError: block.is_error === true };
      }
    }
    if (message.role === "assistant") turns.push(turn);
  }
  return turns;
}

/** What prompts ask for, as they say in a line of their own. */
export const kindsIn = (text: string): string[] =>
  [...text.matchAll(/^<!-- segno: ([\w-]+) -->$/gm)].map(([, kind]) => kind as string);

/** Every agent has another name for Segno's tools: `mcp__segno__progress`, `segno_progress`, `progress`. */
const isNamed = (name: string, tool: ToolName): boolean => name === tool || new RegExp(`segno_+${tool}$`).test(name);

export const segnoTool = ({ tools }: Conversation, tool: ToolName): string | undefined =>
  [...tools].find((name) => isNamed(name, tool));

export const isCallOf = ({ name }: ToolCall, tool: ToolName): boolean => isNamed(name, tool);
