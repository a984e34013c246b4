import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import type { HeldRun } from "../../src/engine/held-run.js";
import { roughTokens } from "../../src/handover/bounded.js";
import { readHanded } from "../../src/handover/handed.js";
import { call, message, type Reply, say } from "../../src/rehearsal/reply.js";
import { lastTexts, type ModelRequest } from "../../src/rehearsal/request.js";
import { planFiles } from "../support/plans.js";
import { type RehearsalOptions, type Rehearsed, rehearse } from "../support/rehearsal.js";
import { scratchRepo } from "../support/scratch.js";
import { isThorough, thorough } from "../support/thorough.js";

const TASKS = 5;
const blobs = ({ store, run }: HeldRun): string => join(dirname(store.where(run.state.run)), "blobs");
const asksCheckpoint = (request: ModelRequest): boolean =>
  lastTexts(request).join("\n").includes("Call `mcp__segno__checkpoint`");

/** Six tasks and at least one handover; the checkpoint turn answers as given. */
async function withCheckpoint(
  answer: (request: ModelRequest) => Reply | undefined,
  more: Partial<RehearsalOptions> = {},
): Promise<Rehearsed> {
  return rehearse({
    repo: scratchRepo(planFiles([{ id: "1", tasks: TASKS }])),
    charsPerTask: 9_000,
    ...more,
    config: { context_limit: 40_000, context_soft: 100, ...more.config },
    behave: (request, worker) => (asksCheckpoint(request) ? (answer(request) ?? worker(request)) : worker(request)),
  });
}

async function expectNothingRedone(run: Rehearsed): Promise<void> {
  expect(run.status).toBe("completed");
  const reported = new Set(run.of("progress-reported").map((event) => event.task));
  expect(reported.size).toBe(TASKS);
  // What the ledger knew is never done again; the one task that was done and not yet reported may be.
  expect(run.done.length).toBeLessThanOrEqual(TASKS + run.of("checkpoint-saved").length);
  for (const event of run.of("progress-reported")) {
    const after = run.of("session-started").filter((started) => started.seq > event.seq);
    for (const started of after) {
      const prompt = (await run.held.run.getBlob(started.prompt)) ?? "";
      expect(prompt).toContain(`- [x] ${event.task} `);
    }
  }
}

describe.concurrent("the checkpoint turn", () => {
  thorough(
    "has the same system prompt, tools and messages before it as the turn it follows: the cache stays warm",
    async () => {
      const run = await withCheckpoint(() => undefined, { agent: "claude" });
      const at = run.exchanges.findIndex(({ request }) => asksCheckpoint(request));
      const [before, asked] = [run.exchanges[at - 1], run.exchanges[at]];
      expect(asked?.request.tools).toEqual(before?.request.tools);
      const system = (request: ModelRequest | undefined) =>
        JSON.stringify(request?.system, (key, value) => (key === "cache_control" ? undefined : value)).replace(
          /cc_version=\S+;/,
          "",
        );
      expect(system(asked?.request)).toBe(system(before?.request));
      const bare = (request: ModelRequest | undefined, n: number) =>
        JSON.stringify(request?.messages.slice(0, n), (key, value) => (key === "cache_control" ? undefined : value));
      const shared = before?.request.messages.filter((each) => each.role !== "system").length ?? 0;
      expect(
        bare(
          {
            ...(asked?.request as ModelRequest),
            messages: (asked?.request.messages ?? []).filter((each) => each.role !== "system"),
          },
          shared,
        ),
      ).toBe(
        bare(
          {
            ...(before?.request as ModelRequest),
            messages: (before?.request.messages ?? []).filter((each) => each.role !== "system"),
          },
          shared,
        ),
      );
      expect(asked?.usage.cache_read_input_tokens).toBeGreaterThan(asked ? asked.usage.cache_creation_input_tokens : 0);
      expect(run.of("checkpoint-saved")[0]?.source).toBe("tool");
    },
  );

  const FAULTS: [string, () => Reply | undefined, string, object][] = [
    [
      "refuses",
      () =>
        message(say("I'm sorry, I can't help with that request at all, it is not something I am able to do here now.")),
      "ledger",
      {},
    ],
    [
      "answers in a fenced block",
      () => message(say("```\n<checkpoint>\nTHE BLOCK: files written\n</checkpoint>\n```")),
      "block",
      {},
    ],
    [
      "answers in plain words",
      () => message(say(`THE BLOCK: ${"so far the first files were written as the plan says. ".repeat(3)}`)),
      "answer",
      {},
    ],
    ["answers garbage", () => message(say("%%%")), "ledger", {}],
    [
      "calls the tool with invalid input, and nothing else",
      () => message(call("mcp__segno__checkpoint", { goal: 7 })),
      "ledger",
      {},
    ],
    [
      "400, too long",
      () => ({
        type: "error",
        status: 400,
        error: "invalid_request_error",
        message: "prompt is too long: 205000 tokens > 200000 maximum",
      }),
      "ledger",
      {},
    ],
    ["times out", () => ({ type: "hang" }), "ledger", { checkpoint_timeout_seconds: 2 }],
    [
      "never says anything but is cut off",
      () => ({ type: "cut", content: [say("<checkpoint>half")] }),
      "ledger",
      { checkpoint_timeout_seconds: 4 },
    ],
    [
      "529, overloaded",
      () => ({ type: "error", status: 529, error: "overloaded_error", message: "Overloaded" }),
      "ledger",
      { checkpoint_timeout_seconds: 4 },
    ],
  ];
  /** One of each kind; the others are part of `test:complete`. */
  const tried = isThorough ? FAULTS : FAULTS.filter((_, n) => n % 3 === 0);
  test.each(tried)("the agent %s: the run completes, with what the ledger knew", async (_, answer, source, config) => {
    const run = await withCheckpoint(answer, { config });
    await expectNothingRedone(run);
    expect(run.of("checkpoint-saved").length).toBeGreaterThan(0);
    for (const saved of run.of("checkpoint-saved")) expect(saved.source).toBe(source);
    if (source !== "ledger") {
      const second = run.of("session-started")[1];
      expect(await run.held.run.getBlob(second?.prompt ?? "sha256:")).toContain("THE BLOCK");
    }
  });

  test("claims that git contradicts are marked in what the next session reads, and are in the event", async () => {
    const run = await withCheckpoint(() =>
      message(
        call("mcp__segno__checkpoint", {
          goal: "g",
          completed: ["src/ghost.ts: written"],
          remaining: [],
          do_not_redo: ["1.5"],
          decisions: [],
        }),
      ),
    );
    await expectNothingRedone(run);
    const prompt = (await run.held.run.getBlob(run.of("session-started")[1]?.prompt ?? "sha256:")) ?? "";
    expect(prompt).toContain("[Segno: git shows no change of src/ghost.ts]");
    expect(prompt).toContain("[Segno: task 1.5 was never reported as done]");
    expect(run.of("checkpoint-saved")[0]?.contradictions.length).toBeGreaterThan(2);
  });

  test("a damaged checkpoint is named, and an older one serves", async () => {
    let damaged = "";
    const run = await withCheckpoint(() => undefined, {
      charsPerTask: 18_000,
      onEvent: (event, held) => {
        if (event.type !== "checkpoint-saved" || held === undefined || damaged !== "") return;
        if (held.run.ledger("1").checkpoints.length < 2 || event.handed === undefined) return;
        damaged = event.session;
        const file = join(blobs(held), event.handed.slice("sha256:".length));
        writeFileSync(file, readFileSync(file, "utf8").replace("goal", "goaI"));
      },
    });
    await expectNothingRedone(run);
    expect(damaged).not.toBe("");
    const warned = run.of("warned").map((event) => event.message);
    expect(warned).toContainEqual(expect.stringContaining(`The checkpoint of ${damaged} is damaged`));
  });

  thorough("with one slot an older checkpoint does not serve: the ledger does", async () => {
    let damaged = "";
    const run = await withCheckpoint(() => undefined, {
      charsPerTask: 18_000,
      config: { checkpoint_slots: 1 },
      onEvent: (event, held) => {
        if (event.type !== "checkpoint-saved" || held === undefined || damaged !== "") return;
        if (held.run.ledger("1").checkpoints.length < 2 || event.handed === undefined) return;
        damaged = event.session;
        rmSync(join(blobs(held), event.handed.slice("sha256:".length)));
      },
    });
    await expectNothingRedone(run);
    const n = run.of("session-started").findIndex(({ session }) => session === damaged);
    const prompt = (await run.held.run.getBlob(run.of("session-started")[n + 1]?.prompt ?? "sha256:")) ?? "";
    expect(prompt).toContain("## Checkpoint of the previous session");
    expect(prompt).not.toContain("Goal");
  });

  test("what the agent handed over is a blob and an event before the agent hears so", async () => {
    let saved = "";
    const real = { agent: "claude" as const };
    const run = await withCheckpoint((request) => {
      // The model's next request after its checkpoint call holds the tool's answer.
      const text = JSON.stringify(request.messages.at(-1));
      if (text.includes("Saved. Stop now")) saved = text;
      return undefined;
    }, real);
    expect(run.of("checkpoint-reported").length).toBeGreaterThan(0);
    for (const { handed, session, seq } of run.of("checkpoint-reported")) {
      expect(readHanded((await run.held.run.getBlob(handed)) ?? "")).toMatchObject({ type: "tool" });
      const rendered = run.of("checkpoint-saved").find((event) => event.session === session);
      expect(rendered).toMatchObject({ handed, source: "tool" });
      expect(rendered?.seq).toBeGreaterThan(seq);
    }
    // It never gets that far: the turn ends at the boundary after the report.
    expect(saved).toBe("");
    expect(existsSync(join(blobs(run.held), "..", "CHECKPOINT.md"))).toBe(true);
  });
});

describe.concurrent("many handovers", () => {
  test("ten in one phase: the checkpoint part stays within its bound and names every remaining task; nothing is redone", async () => {
    const tasks = 12;
    const run = await rehearse({
      repo: scratchRepo(planFiles([{ id: "1", tasks }])),
      charsPerTask: 18_000,
      config: { context_limit: 32_000, context_soft: 100 },
    });
    expect(run.status, JSON.stringify(run.of("phase-failed"))).toBe("completed");
    const started = run.of("session-started");
    expect(started.length).toBeGreaterThan(10);
    expect(run.done).toHaveLength(tasks);
    for (const event of started.slice(1)) {
      const prompt = (await run.held.run.getBlob(event.prompt)) ?? "";
      const part = prompt.split("## Checkpoint of the previous session")[1]?.split("# Plan:")[0] ?? "";
      expect(roughTokens(part)).toBeLessThanOrEqual(2_000);
      const done = new Set(
        run
          .of("progress-reported")
          .filter(({ seq }) => seq < event.seq)
          .map(({ task }) => task),
      );
      for (let n = 1; n <= tasks; n++) if (!done.has(`1.${n}`)) expect(part).toMatch(new RegExp(`1\\.${n}\\b`));
    }
    // None of this is going round in circles.
    expect(run.of("stuck-noticed")).toEqual([]);
  });
});
