import { describe, expect, test } from "vitest";
import { call, message, say } from "../../src/rehearsal/reply.js";
import { type Exchange, startStandIn } from "../../src/rehearsal/server.js";
import { countTokens } from "../../src/rehearsal/tokens.js";
import { whenOver } from "../support/scratch.js";

async function standIn(window = 1_000, exchanges: Exchange[] = []) {
  const server = await startStandIn({
    window,
    behaviour: () => message(say("hello"), call("Bash", { command: "ls" })),
    onExchange: (exchange) => exchanges.push(exchange),
  });
  whenOver(() => server.close());
  return server;
}
const ask = (url: string, body: object, path = "/v1/messages?beta=true") =>
  fetch(url + path, {
    method: "POST",
    body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "hi there" }], ...body }),
  });

describe("the stand-in model", () => {
  test("answers whole and streamed alike, with the true output count only at the end of the stream", async () => {
    const { url } = await standIn();
    const whole = (await (await ask(url, {})).json()) as {
      content: { type: string }[];
      stop_reason: string;
      usage: { output_tokens: number };
    };
    expect(whole.content.map((block) => block.type)).toEqual(["text", "tool_use"]);
    expect(whole.stop_reason).toBe("tool_use");
    const events = (await (await ask(url, { stream: true })).text())
      .split("\n\n")
      .filter(Boolean)
      .map((event) => JSON.parse(event.split("data: ")[1] as string));
    expect(events[0]).toMatchObject({ type: "message_start", message: { usage: { output_tokens: 1 } } });
    expect(events.at(-2)).toMatchObject({ type: "message_delta", usage: { output_tokens: whole.usage.output_tokens } });
    expect(events.at(-1).type).toBe("message_stop");
  });

  test("counts tokens, and refuses what is longer than its window as the API does", async () => {
    const { url } = await standIn(50);
    const counted = (await (await ask(url, {}, "/v1/messages/count_tokens")).json()) as { input_tokens: number };
    expect(counted.input_tokens).toBeGreaterThan(1);
    const refused = await ask(url, { messages: [{ role: "user", content: "word ".repeat(100) }] });
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({
      error: {
        type: "invalid_request_error",
        message: expect.stringMatching(/^prompt is too long: \d+ tokens > 50 maximum$/),
      },
    });
  });

  test("reads from the cache what was sent before up to a breakpoint, and the sum is always the whole prompt", async () => {
    const exchanges: Exchange[] = [];
    const { url } = await standIn(10_000, exchanges);
    const block = (text: string, cached: boolean) => ({
      type: "text",
      text,
      ...(cached ? { cache_control: { type: "ephemeral" } } : {}),
    });
    const first = [{ role: "user", content: [block("long text ".repeat(50), true)] }];
    await ask(url, { messages: first });
    await ask(url, { messages: [...first, { role: "user", content: [block("more", false)] }] });
    const [cold, warm] = exchanges.map((exchange) => exchange.usage);
    expect(cold).toMatchObject({ cache_read_input_tokens: 0, input_tokens: 0 });
    expect(warm?.cache_read_input_tokens).toBe(cold?.cache_creation_input_tokens);
    expect(warm?.input_tokens).toBeGreaterThan(0);
  });

  test("has different ratios for prose, code and numbers, as real tokenizers do", () => {
    const ratio = (text: string) => text.length / countTokens(text);
    const prose = ratio(
      "The quick brown fox jumps over the lazy dog and then walks home through the quiet forest. ".repeat(20),
    );
    const numbers = ratio("3141592653 5897932384 6264338327 ".repeat(20));
    expect(prose).toBeGreaterThan(3);
    expect(numbers).toBeLessThan(prose);
  });
});
