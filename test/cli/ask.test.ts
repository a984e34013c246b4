import { expect, test } from "vitest";
import { inPty } from "../support/pty.js";
import { scratchRepo } from "../support/scratch.js";
import { SEGNO } from "../support/segno.js";

test.each([
  ["Ctrl-C", "\x03"],
  ["the end of the input", "\x04"],
])("%s at a question is no answer, and never a success", async (_, key) => {
  const cwd = scratchRepo({ "PLAN.md": "# Plan\n\n- [ ] 1.1: Create `a.txt`\n" });
  const env = {
    PATH: process.env.PATH as string,
    HOME: process.env.HOME as string,
    ANTHROPIC_API_KEY: "x",
    IS_SANDBOX: "1",
  };
  const terminal = inPty([process.execPath, SEGNO, "run", "PLAN.md", "--plain"], { cwd, env, columns: 100, rows: 40 });
  await terminal.until((frame) => frame.some((line) => line.startsWith(">")), "the question");
  terminal.type(key);
  expect(await terminal.ended).toBe(2);
});
