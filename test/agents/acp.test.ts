/** A toy over the Agent Client Protocol that misbehaves in every way that the protocol allows: each turn ends as a value. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test, vi } from "vitest";
import { acpAgent, findAcp } from "../../src/agents/acp/agent.js";
import { wordsIn } from "../../src/agents/acp/command.js";
import { failedEnd } from "../../src/agents/acp/errors.js";
import { type Observation, type SessionOptions, shortcomings } from "../../src/agents/agent.js";
import { findProcesses } from "../../src/agents/processes.js";
import { segnoTools } from "../../src/tools/tools.js";
import { scratchFolder, whenOver } from "../support/scratch.js";

const TOY = fileURLToPath(new URL("../support/toy-acp.mjs", import.meta.url));
const toy = (mode: string) => acpAgent(`acp:toy ${mode}`, [process.execPath, TOY, mode], "toy");
let count = 0;

async function open(mode: string, more: Partial<SessionOptions> = {}, stopAfter = Number.POSITIVE_INFINITY) {
  const observations: Observation[] = [];
  const told: unknown[] = [];
  const marker = `test:acp:${process.pid}:${++count}`;
  const cwd = scratchFolder();
  let boundaries = 0;
  const tell = (tool: string) => async (input: unknown) => {
    told.push({ tool, input });
    return "Heard.";
  };
  const session = await toy(mode).open({
    marker,
    cwd,
    env: { PATH: process.env.PATH ?? "" },
    model: undefined,
    permissions: "all",
    readOnly: false,
    isolated: true,
    compacts: false,
    resume: undefined,
    sandbox: false,
    allowedTools: [],
    deniedTools: [],
    mcp: undefined,
    tools: segnoTools({
      progress: tell("progress"),
      checkpoint: tell("checkpoint"),
      phase_result: tell("phase_result"),
      ask: tell("ask"),
      decision: tell("decision"),
      split_request: tell("split_request"),
    } as unknown as Parameters<typeof segnoTools>[0]),
    handlers: {
      spawned: () => {},
      observe: (observation) => observations.push(observation),
      boundary: async () => (++boundaries >= stopAfter ? { stop: true, why: "context" } : { stop: false }),
      begins: () => undefined,
      mayCompact: () => true,
      givesUp: () => false,
    },
    ...more,
  });
  whenOver(() => session.close());
  const close = async (): Promise<number> => {
    const swept = await session.close();
    expect(await findProcesses((each) => each === marker)).toEqual([]);
    return swept;
  };
  const of = <T extends Observation["type"]>(type: T) =>
    observations.filter((seen): seen is Extract<Observation, { type: T }> => seen.type === type);
  const notes = () => (existsSync(join(cwd, "notes.txt")) ? readFileSync(join(cwd, "notes.txt"), "utf8").trim() : "");
  return { send: session.send.bind(session), close, observations, told, of, notes, boundaries: () => boundaries };
}

describe.concurrent("an agent over the Agent Client Protocol", () => {
  test("a turn: what it said and did, in order, with Segno's own tools over HTTP", async () => {
    const session = await open("well");
    expect(await session.send("Go.")).toEqual({ type: "finished" });
    expect(session.of("ready")).toEqual([{ type: "ready", agentSession: "s1", model: "unknown" }]);
    expect(session.told).toEqual([{ tool: "progress", input: { message: "half", task: "1.1" } }]);
    expect(session.of("tool").map(({ kind, name, brief, ok }) => [kind, name, brief, ok])).toEqual([
      ["shell", "execute", "echo hello", true],
      ["segno", "progress", "half", true],
    ]);
    expect(session.of("said").map(({ text }) => text)).toEqual(["Beginning.", "All done."]);
    const kinds = session.observations.flatMap((seen) =>
      seen.type === "call" || seen.type === "tool"
        ? [seen.type]
        : seen.type === "meter" && seen.input.type === "appended" && seen.input.isResult
          ? ["metered"]
          : [],
    );
    expect(kinds).toEqual(["call", "metered", "tool", "call", "metered", "tool", "call"]);
    await session.close();
  });

  test("how full the window is, from what it tells; nothing is not told", async () => {
    const session = await open("usage");
    expect(await session.send("Go.")).toEqual({ type: "finished" });
    expect(session.of("window")).toEqual([{ type: "window", window: 128_000, compactAt: undefined }]);
    expect(session.of("call").map(({ usage }) => usage.input)).toEqual([12_345]);
    await session.close();
  });

  test("unknown requests are answered, unknown updates are a sign of life", async () => {
    const session = await open("unknown");
    expect(await session.send("Go.")).toEqual({ type: "finished" });
    expect(session.notes().split("\n")).toEqual([
      "fs/read_text_file: -32601",
      "terminal/create: -32601",
      "_vendor/thing: -32601",
    ]);
    await session.close();
  });

  test("late updates, other sessions', names that nobody knows and answers to nobody change nothing", async () => {
    const late = await open("late");
    expect(await late.send("Go.")).toEqual({ type: "finished" });
    await vi.waitFor(() => expect(late.of("alive").length).toBe(3), { timeout: 30_000 });
    expect(await late.send("well")).toEqual({ type: "finished" });
    expect(late.of("tool").map(({ name }) => name)).toEqual(["execute", "progress"]);
    await late.close();
    const ids = await open("ids");
    expect(await ids.send("Go.")).toEqual({ type: "finished" });
    // One that ends without having begun is told once.
    expect(ids.of("tool").map(({ id }) => id)).toEqual(["never-begun"]);
    expect(ids.of("said").map(({ text }) => text)).toEqual(["Done."]);
    await ids.close();
  });

  test("lines that are no messages, and a very long one", async () => {
    const session = await open("garbage");
    expect(await session.send("Go.")).toEqual({ type: "finished" });
    expect(session.of("said").at(-1)?.text.endsWith("Done.")).toBe(true);
    expect(await session.send("well")).toEqual({ type: "finished" });
    await session.close();
  });

  test.each([
    ["empty", { type: "failed", kind: "api" }],
    ["odd", { type: "failed", kind: "other" }],
    ["refusal", { type: "failed", kind: "request" }],
    ["dies", { type: "crashed", message: expect.stringContaining("panic: out of luck") }],
    ["closes", { type: "crashed" }],
    ["dead", { type: "crashed" }],
    ["old", { type: "failed", message: expect.stringContaining("version 0") }],
    ["deprived", { type: "failed", message: expect.stringContaining("mcpCapabilities.http") }],
    ["login", { type: "failed", kind: "auth" }],
    ["fails", { type: "failed", kind: "limit", until: expect.stringMatching(/^\d{4}-/) }],
  ])("%s: its turn ends as a value, and the next one, too", async (mode, end) => {
    const session = await open(mode);
    expect(await session.send("Go.")).toMatchObject(end);
    const next = await session.send("Go on.");
    expect(next.type === "crashed" || next.type === "failed").toBe(true);
    await session.close();
  });

  test("silence: it can be closed at any time, and nothing is left", async () => {
    const session = await open("silence");
    const over = session.send("Go.");
    await session.close();
    expect(await over).toMatchObject({ type: "crashed" });
  });

  test("it is stopped when no tool runs, by cancelling", async () => {
    const session = await open("loops", {}, 2);
    expect(await session.send("Go.")).toEqual({ type: "stopped", why: "context" });
    expect(session.of("tool")).toHaveLength(2);
    expect(session.boundaries()).toBe(2);
    // The same conversation is asked once more.
    expect(await session.send("well", { onlySegnoTools: true })).toMatchObject({ type: "finished" });
    await session.close();
  });

  test("one that does not heed it is given up, and ended with everything it started", async () => {
    const session = await open("deaf", {}, 1);
    expect(await session.send("Go.")).toEqual({ type: "stopped", why: "context" });
    expect(await session.send("Hand over.")).toMatchObject({ type: "crashed" });
    expect(await session.close()).toBeGreaterThanOrEqual(0);
  });

  test("requests for permission are answered by the level, and never for longer than this once", async () => {
    const answers = async (more: Partial<SessionOptions>, only = false) => {
      const session = await open("asks", more);
      await session.send("Go.", { onlySegnoTools: only });
      await session.close();
      return session
        .notes()
        .split("\n")
        .map((line) => line.split(": ").at(-1));
    };
    expect(await answers({ permissions: "all" })).toEqual(["yes", "yes", "yes", "yes"]);
    expect(await answers({ permissions: "listed" })).toEqual(["no", "no", "yes", "no"]);
    expect(await answers({ permissions: "all", deniedTools: ["execute"] })).toEqual(["yes", "no", "yes", "yes"]);
    expect(await answers({ permissions: "all", readOnly: true })).toEqual(["no", "yes", "yes", "no"]);
    expect(await answers({ permissions: "all" }, true)).toEqual(["no", "no", "yes", "no"]);
  });

  test("what is found out before a run: who it is, what it lacks, what it cannot do", async () => {
    const check = (mode: string) => toy(mode).check({ PATH: process.env.PATH ?? "" }, scratchFolder());
    expect(await check("well")).toEqual({ ok: true, account: "Toy 1.0" });
    expect(await check("old")).toMatchObject({ ok: false, detail: expect.stringContaining("version 0") });
    expect(await check("deprived")).toMatchObject({ ok: false, detail: expect.stringContaining("HTTP") });
    expect(await check("dead")).toMatchObject({ ok: false, problem: "missing" });
    const missing = findAcp("acp:no-such-program-here --acp", { whose: "user", env: { PATH: "/usr/bin" } });
    expect(await missing.checkQuickly({}, "/")).toMatchObject({ ok: false, problem: "missing" });
    expect(shortcomings(toy("well"), { sandbox: false })).toHaveLength(5);
    expect(toy("well").levels.edits).toBeUndefined();
  });
});

test("a command in words, as a shell would read it, and no shell reads it", () => {
  expect(wordsIn("npx -y some-agent --acp")).toEqual(["npx", "-y", "some-agent", "--acp"]);
  expect(wordsIn(`  "/my tools/agent" --name 'a "b"' c\\ d "" $(rm)`)).toEqual([
    "/my tools/agent",
    "--name",
    'a "b"',
    "c d",
    "",
    "$(rm)",
  ]);
  expect(wordsIn(`agent "open`)).toBeUndefined();
});

test.each([
  [
    { code: -32_000, message: "Authentication required" },
    { type: "failed", kind: "auth" },
  ],
  [
    { message: "Internal error", data: { details: "401 invalid key" } },
    { type: "failed", kind: "auth" },
  ],
  [{ message: "429 Too Many Requests" }, { type: "failed", kind: "api" }],
  [
    { message: "Usage limit reached. Try again in 2h30m." },
    { type: "failed", kind: "limit", until: "1970-01-01T02:30:00.000Z" },
  ],
  [{ message: "503 overloaded" }, { type: "failed", kind: "api" }],
  [{ message: "404 model x not found" }, { type: "failed", kind: "model" }],
  [{ message: "400 bad request" }, { type: "failed", kind: "request" }],
  [{ message: "prompt is too long" }, { type: "too-long" }],
  [{}, { type: "failed", kind: "other", message: "it failed without a word" }],
])("an error in words: %j", (error, end) => {
  expect(failedEnd(error, 0)).toMatchObject(end);
});
