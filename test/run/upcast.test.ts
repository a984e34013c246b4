import { describe, expect, test } from "vitest";
import { EVENT_VERSION } from "../../src/run/event.js";
import { upcast } from "../../src/run/upcast.js";

const first = (fields: Record<string, unknown>) => ({
  v: 1,
  seq: 1,
  at: "2026-01-01T00:00:00.000Z",
  epoch: 1,
  ...fields,
});

describe("events of version 1", () => {
  test.each([
    ["/home/dev/project", "/home/dev/project", ""],
    ["/home/dev/project", "/home/dev/project/packages/a", "packages/a"],
    ["/", "/packages", "packages"],
  ])("run-started in %s, begun in %s: no absolute path is left", (top, cwd, folder) => {
    const event = upcast(
      first({ type: "run-started", run: "r", config: { permission_mode: "acceptEdits" }, top, cwd }),
    );
    expect(event).toMatchObject({ v: EVENT_VERSION, folder, config: { permission_mode: "edits" } });
    expect(Object.keys(event)).not.toContain("top");
    expect(Object.keys(event)).not.toContain("cwd");
  });

  test("a worktree keeps its branch", () => {
    const worktree = { folder: "/home/dev/.local/state/x", branch: "segno/r/1" };
    expect(upcast(first({ type: "phase-started", phase: "1", worktree }))).toMatchObject({
      worktree: { branch: "segno/r/1" },
    });
    expect(JSON.stringify(upcast(first({ type: "phase-started", phase: "1", worktree })))).not.toContain("/home");
  });

  test.each([
    ["segno stop", "asked"],
    ["SIGINT", "asked"],
    ["a usage limit (on_usage_limit: stop)", "usage-limit"],
    ["the run's budget (max_tokens: 5 of 4 tokens)", "budget"],
    ["context_policy: stop", "context"],
  ])("a stop by %s has the cause %s", (by, cause) => {
    expect(upcast(first({ type: "stop-requested", by }))).toMatchObject({ by, cause });
  });

  test("a checkpoint is the blob that was made of it, where the agent handed one over", () => {
    const saved = { type: "checkpoint-saved", checkpoint: "sha256:ab", source: "tool", tokens: 1, contradictions: [] };
    expect(upcast(first({ ...saved, slot: "x.json" }))).toMatchObject({ handed: "sha256:ab" });
    expect(upcast(first({ ...saved, slot: "" }))).toMatchObject({ handed: undefined });
  });

  test("tools have kinds and plain names, calls a cost", () => {
    const tool = (name: string) => upcast(first({ type: "tool-finished", tool: name }));
    expect(tool("mcp__segno__progress")).toMatchObject({ tool: "progress", kind: "segno" });
    expect(tool("Bash")).toMatchObject({ tool: "Bash", kind: "shell" });
    expect(tool("mcp__other__x")).toMatchObject({ tool: "mcp__other__x", kind: "other" });
    const usage = { input: 1_000_000, cacheRead: 0, cacheWrite: 0, output: 0 };
    expect(upcast(first({ type: "call-made", model: "claude-sonnet-4-5", usage }))).toMatchObject({ cost: 3 });
    expect(upcast(first({ type: "call-made", model: "unknown", usage }))).toMatchObject({ cost: undefined });
  });

  test("all others are as they were; a newer version is no way back", () => {
    expect(upcast(first({ type: "limit-lifted" }))).toEqual({ ...first({ type: "limit-lifted" }), v: EVENT_VERSION });
    expect(() => upcast({ ...first({ type: "limit-lifted" }), v: EVENT_VERSION + 1 })).toThrow();
  });
});
