import { spawn } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { holderOf, takeLock } from "../../src/store/lock.js";
import { scratchFolder } from "../support/scratch.js";

const LOCK_MODULE = new URL("../../build/store/lock.js", import.meta.url).href;

describe("the lock", () => {
  test("is held by one, says by whom, and is free when released", () => {
    const folder = scratchFolder();
    const first = takeLock(folder, "lock", "run-1", new Date(0));
    expect(first.ok).toBe(true);
    expect(takeLock(folder, "lock", "run-2", new Date())).toMatchObject({
      ok: false,
      holder: { pid: process.pid, run: "run-1", since: "1970-01-01T00:00:00.000Z" },
    });
    expect(holderOf(folder, "lock")?.run).toBe("run-1");
    if (first.ok) first.lock.release();
    expect(holderOf(folder, "lock")).toBeUndefined();
    expect(takeLock(folder, "lock", "run-2", new Date()).ok).toBe(true);
  });

  test.each([
    ["a dead process", { pid: 2 ** 22 - 3, started: "1", boot: undefined }],
    ["another process with its pid", { pid: process.pid, started: "1", boot: undefined }],
    ["a process before the last boot", { pid: process.pid, started: undefined, boot: "another boot" }],
    ["nobody that can be read", undefined],
  ])("of %s is taken over by the next number", (_, holder) => {
    const folder = scratchFolder();
    const mine = takeLock(scratchFolder(), "lock", "x", new Date());
    expect(mine.ok).toBe(true);
    const probe = scratchFolder();
    takeLock(probe, "lock", "x", new Date());
    const real = holderOf(probe, "lock");
    const dead =
      holder === undefined
        ? "{"
        : JSON.stringify({
            ...real,
            ...Object.fromEntries(Object.entries(holder).filter(([, value]) => value !== undefined)),
            host: hostname(),
          });
    writeFileSync(join(folder, "lock.7"), dead);
    expect(takeLock(folder, "lock", "run-2", new Date()).ok).toBe(true);
    expect(readdirSync(folder)).toEqual(["lock.8"]);
  });

  test("of another machine is never judged from here", () => {
    const folder = scratchFolder();
    writeFileSync(
      join(folder, "lock.1"),
      JSON.stringify({ pid: 1, started: "1", boot: "b", host: "elsewhere", since: "then", run: "r" }),
    );
    expect(takeLock(folder, "lock", "run-2", new Date())).toMatchObject({ ok: false, holder: { host: "elsewhere" } });
  });

  test("many that want it at once: exactly one gets it", async () => {
    const folder = scratchFolder();
    writeFileSync(join(folder, "lock.1"), "{}");
    const script = `import { takeLock } from ${JSON.stringify(LOCK_MODULE)};
      const got = takeLock(${JSON.stringify(folder)}, "lock", "r", new Date());
      console.log(got.ok); process.stdin.resume();`;
    const children = Array.from({ length: 8 }, () =>
      spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: ["pipe", "pipe", "inherit"] }),
    );
    // Each holds what it has until all have answered.
    const answers = await Promise.all(
      children.map(
        ({ stdout }) => new Promise<string>((resolve) => stdout.once("data", (data) => resolve(String(data).trim()))),
      ),
    );
    for (const { stdin } of children) stdin.end();
    expect(answers.filter((answer) => answer === "true")).toHaveLength(1);
    expect(answers).toHaveLength(8);
  });
});
