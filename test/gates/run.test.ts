import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { findProcesses } from "../../src/agents/processes.js";
import { runGate } from "../../src/gates/run.js";
import { scratchFolder } from "../support/scratch.js";

let gates = 0;
const gate = (command: string, more: { cwd?: string; timeoutMs?: number; marker?: string } = {}) =>
  runGate({
    command,
    cwd: more.cwd ?? scratchFolder(),
    env: { PATH: process.env.PATH ?? "" },
    marker: more.marker ?? `t:gate-${++gates}`,
    timeoutMs: more.timeoutMs ?? 20_000,
  });

describe.concurrent("a gate", () => {
  test("passes with exit status 0 and fails with any other, whatever it prints", async () => {
    expect(await gate("echo FAILED")).toMatchObject({ passed: true, exit: 0, output: "FAILED\n" });
    expect(await gate("echo all good; exit 2")).toMatchObject({ passed: false, exit: 2, why: "exit 2" });
    expect(await gate("no-such-command-here")).toMatchObject({ passed: false, exit: 127 });
    expect(await gate("kill -9 $$")).toMatchObject({ passed: false, exit: null });
  });

  test("runs in its directory", async () => {
    const cwd = scratchFolder();
    await gate("pwd > where.txt", { cwd });
    expect(readFileSync(join(cwd, "where.txt"), "utf8").trim()).toBe(cwd);
  });

  test("that takes too long is ended with all its children", async () => {
    const cwd = scratchFolder();
    const verdict = await gate("(sleep 3; touch late) & sleep 60", { cwd, timeoutMs: 300, marker: "t:slow" });
    expect(verdict).toMatchObject({ passed: false, why: expect.stringContaining("longer than") });
    expect(await findProcesses((marker) => marker === "t:slow")).toEqual([]);
    expect(existsSync(join(cwd, "late"))).toBe(false);
  });

  test("that leaves a server behind neither hangs nor leaves it", async () => {
    const verdict = await gate("sleep 100 & echo ok", { marker: "t:server" });
    expect(verdict).toMatchObject({ passed: true, output: "ok\n" });
    expect(verdict.ms).toBeLessThan(10_000);
    expect(await findProcesses((marker) => marker === "t:server")).toEqual([]);
  });

  test("with a long output keeps its first and its last part", async () => {
    const { output } = await gate(
      "echo first; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo line $i; done; echo last",
    );
    expect(output.length).toBeLessThan(31_000);
    expect(output.startsWith("first\n")).toBe(true);
    expect(output.endsWith("last\n")).toBe(true);
    expect(output).toMatch(/… \d+ characters left out …/);
  });
});
