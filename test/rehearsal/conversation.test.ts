/** What the stand-in reads of a conversation, whatever API it came through. */
import { describe, expect, test } from "vitest";
import { readConversation } from "../../src/rehearsal/conversation.js";
import { call, message, say } from "../../src/rehearsal/reply.js";
import type { ModelRequest } from "../../src/rehearsal/request.js";
import { startStandIn } from "../../src/rehearsal/server.js";
import { whenOver } from "../support/scratch.js";

const PROMPT = "# Phase 1: A\n\n## State of the tasks\n\n- [ ] 1.1 a\n- [ ] 1.2 b\n";

test("what a conversation that was cut off is told of its tasks counts, also where its own memory lost it", () => {
  const told = "It goes on.\n\n## State of the tasks\n\n- [x] 1.1 a\n- [ ] 1.2 b\n";
  const request = { model: "m", messages: [PROMPT, told].map((content) => ({ role: "user" as const, content })) };
  expect(readConversation(request).tasks.map(({ id, done }) => [id, done])).toEqual([
    ["1.1", true],
    ["1.2", false],
  ]);
});

describe("the Responses API", () => {
  test("a request is read as the worker knows it, and its reply is in Codex's words", async () => {
    const seen: ModelRequest[] = [];
    const { url, close } = await startStandIn({
      window: 10_000,
      behaviour: (request) => {
        seen.push(request);
        return message(
          say("ok"),
          call("Write", { file_path: "a.txt", content: "x\ny\n" }),
          call("mcp__segno__progress", { message: "m" }),
        );
      },
    });
    whenOver(close);
    const ask = async (input: object[]) => {
      const tools = [
        { type: "function", name: "exec_command" },
        { type: "namespace", name: "mcp__segno", tools: [{ type: "function", name: "progress" }] },
      ];
      const response = await fetch(`${url}/v1/responses`, {
        method: "POST",
        body: JSON.stringify({ model: "m", input, tools }),
      });
      return (await response.text())
        .split("\n\n")
        .filter(Boolean)
        .map((event) => JSON.parse(event.split("data: ")[1] as string));
    };
    const user = { type: "message", role: "user", content: [{ type: "input_text", text: PROMPT }] };
    const events = await ask([user]);
    const calls = events.flatMap(({ type, item }) =>
      type === "response.output_item.done" && item.type === "function_call" ? [item] : [],
    );
    expect(calls).toMatchObject([{ name: "exec_command" }, { name: "progress", namespace: "mcp__segno" }]);
    const refused = "Command blocked by PreToolUse hook: no.";
    await ask([
      user,
      ...calls,
      ...calls.map(({ call_id }, n) => ({
        type: "function_call_output",
        call_id,
        output: n === 0 ? refused : "Recorded.",
      })),
    ]);
    expect([...readConversation(seen[1] as ModelRequest).tools]).toEqual(["Bash", "Write", "mcp__segno__progress"]);
    expect(readConversation(seen[1] as ModelRequest).turns[0]?.calls).toEqual([
      { name: "Write", input: { file_path: "a.txt", content: "x\ny\n" }, result: { text: refused, isError: true } },
      { name: "mcp__segno__progress", input: { message: "m" }, result: { text: "Recorded.", isError: false } },
    ]);
    const { response } = events.at(-1);
    expect(response.usage.input_tokens).toBeGreaterThan(response.usage.input_tokens_details.cached_tokens);
    const long = await ask([{ ...user, content: [{ type: "input_text", text: "word ".repeat(40_000) }] }]);
    expect(long).toMatchObject([{ type: "response.failed", response: { error: { code: "context_length_exceeded" } } }]);
  });
});
