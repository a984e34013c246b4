/** Agents that a plan or a configuration names and that cannot work here: said before anything begins. */
import { describe, expect, test } from "vitest";
import { planFiles } from "../support/plans.js";
import { scratchRepo } from "../support/scratch.js";
import { eventsOf, site } from "../support/segno.js";

const CONFIG = ".segno/config.yaml";

describe.concurrent("agents that cannot work here", () => {
  test("one that cannot keep the level is left out, and that is said", async () => {
    const place = await site({ repo: scratchRepo(planFiles([{ id: "1", fields: "**Agent:** opencode" }])) });
    const ended = await place.segno(["run", "PLAN.md", "--json", "--permission-mode", "auto"]).ended;
    expect(ended.code, ended.stdout + ended.stderr).toBe(0);
    const started = eventsOf(ended).flatMap((event) => (event.type === "session-started" ? [event.agent] : []));
    expect(started).toEqual(["scripted"]);
    expect(ended.stdout).toContain("opencode cannot keep permission_mode: auto, so it is left out");
  });

  test("the run's own is refused, with the levels it knows", async () => {
    const place = await site({ repo: scratchRepo(planFiles([{ id: "1" }])) });
    const args = ["run", "PLAN.md", "--agent", "opencode", "--permission-mode", "auto"];
    const ended = await place.segno(args).ended;
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain("opencode cannot keep permission_mode: auto");
    expect(ended.stderr).toContain("all, edits, listed");
  });

  test("audit says it, too, before anybody runs it", async () => {
    const place = await site({ repo: scratchRepo(planFiles([{ id: "1" }])) });
    const env = { SEGNO_AGENT: "opencode", SEGNO_PERMISSION_MODE: "auto" };
    const ended = await place.segno(["audit", "PLAN.md"], { env }).ended;
    expect(ended.stdout).toContain("opencode cannot keep permission_mode: auto");
  });

  test.skipIf(process.getuid?.() !== 0)("root is told what Claude Code refuses, and what to do", async () => {
    const place = await site({ agent: "claude", repo: scratchRepo(planFiles([{ id: "1" }])) });
    const env = { IS_SANDBOX: "" };
    const ended = await place.segno(["run", "PLAN.md", "--permission-mode", "all"], { env }).ended;
    expect(ended.code).toBe(2);
    expect(ended.stderr).toMatch(/refuses permission_mode: all to root[\s\S]*IS_SANDBOX=1/);
    const looked = await place.segno(["doctor"], { env: { ...env, SEGNO_PERMISSION_MODE: "all" } }).ended;
    expect(looked.code).toBe(1);
    expect(looked.stdout).toContain("refuses permission_mode: all to root");
  });

  test("a name that nobody has: in a plan it is said, in a configuration it is refused", async () => {
    const plan = planFiles([{ id: "1", fields: "**Agent:** backend-developer" }]);
    const said = await (await site({ repo: scratchRepo(plan) })).segno(["run", "PLAN.md", "--json"]).ended;
    expect(said.code, said.stdout + said.stderr).toBe(0);
    expect(said.stdout).toContain('The plan names \\"backend-developer\\" as an agent');
    const repo = scratchRepo({ ...planFiles([{ id: "1" }]), [CONFIG]: "agents: { verify: somebody }\n" });
    const refused = await (await site({ repo })).segno(["run", "PLAN.md"]).ended;
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('There is no agent "somebody"');
  });

  test("one that is not installed is refused, with how to install it", async () => {
    const repo = scratchRepo(planFiles([{ id: "1", fields: "**Agent:** codex" }]));
    const place = await site({ repo });
    const ended = await place.segno(["run", "PLAN.md"], { env: { SEGNO_CODEX: "/nowhere/codex" } }).ended;
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain("Codex cannot be started");
    expect(ended.stderr).toContain("npm install -g @openai/codex");
  });
});
