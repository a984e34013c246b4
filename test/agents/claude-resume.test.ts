/** Which conversations Claude Code can be asked to go on with: those that got an answer. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { claudeAgent } from "../../src/agents/claude/agent.js";
import { scratchFolder } from "../support/scratch.js";

test("one that was ended before its first answer has a file, and is not taken up again", async () => {
  const home = scratchFolder();
  const project = join(home, "projects/-work");
  mkdirSync(project, { recursive: true });
  const begun = '{"type":"queue-operation","operation":"enqueue"}\n{"type":"user","message":{"role":"user"}}\n';
  writeFileSync(join(project, "begun.jsonl"), begun);
  writeFileSync(join(project, "answered.jsonl"), `${begun}{"parentUuid":"x","type":"assistant","message":{}}\n`);
  const agent = claudeAgent(process.execPath);
  const canResume = (session: string) => agent.canResume(session, { CLAUDE_CONFIG_DIR: home });
  expect(await Promise.all([canResume("begun"), canResume("answered"), canResume("never")])).toEqual([
    false,
    true,
    false,
  ]);
});
