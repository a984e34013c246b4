/** Plans without a gate: the project's own checks judge their phases, or a session that did not do the work. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { kindsIn } from "../../src/rehearsal/conversation.js";
import { call, message } from "../../src/rehearsal/reply.js";
import { userTexts } from "../../src/rehearsal/request.js";
import { type RehearsalOptions, rehearse } from "../support/rehearsal.js";
import { git, scratchRepo } from "../support/scratch.js";

const PLAN = `# Lists

## First

- [ ] Create \`out/a.txt\`

## Second

- [ ] Create \`out/b.txt\`
`;
const HEADED = `# P

### Phase 1: First

**Status:** Pending

- [ ] Create \`out/a.txt\`
`;

const purposes = (run: Awaited<ReturnType<typeof rehearse>>) =>
  run.of("session-started").map(({ phase, purpose }) => `${phase} ${purpose}`);

/** A judge that refuses until the work was repaired. */
const refusing = (criterion: string): NonNullable<RehearsalOptions["behave"]> => {
  let refused = 0;
  return (request, worker) => {
    const judges = userTexts(request).some((text) => kindsIn(text).includes("verify"));
    if (!judges || refused > 0 || (request.tools ?? []).length === 0) return worker(request);
    refused++;
    const criteria = [{ criterion, verdict: "fail", evidence: "out/a.txt:1", why: "It is empty." }];
    return message(call("mcp__segno__verdict", { criteria }));
  };
};

describe.concurrent("a phase without a gate", () => {
  test("is judged by a session of its own, against its tasks where it has no criteria, and is then verified", async () => {
    const repo = scratchRepo({ "PLAN.md": PLAN });
    const run = await rehearse({ repo });
    expect(run.status).toBe("completed");
    expect(purposes(run)).toEqual(["1 work", "1 verify", "2 work", "2 verify"]);
    expect(run.of("verdict-reported")[0]?.verdicts).toMatchObject([
      { criterion: "Task 1.1 is done: Create `out/a.txt`", passed: true },
    ]);
    expect(run.of("phase-done").map(({ verified }) => verified)).toEqual([true, true]);
    expect(git(repo, "log", "-1", "--format=%s")).toBe("Segno: Phase 2 - Second ✓");
  });

  test("what the judge refuses is repaired, and judged again", async () => {
    const repo = scratchRepo({ "PLAN.md": HEADED });
    const run = await rehearse({ repo, behave: refusing("Task 1.1 is done: Create `out/a.txt`") });
    expect(run.status).toBe("completed");
    expect(purposes(run)).toEqual(["1 work", "1 verify", "1 remediate", "1 verify"]);
  });

  test("with verify: off it is done, not verified: in the plan, in its commit and in the journal", async () => {
    const repo = scratchRepo({ "PLAN.md": HEADED });
    const run = await rehearse({ repo, config: { verify: "off" } });
    expect(run.status).toBe("completed");
    expect(purposes(run)).toEqual(["1 work"]);
    expect(run.of("phase-done")[0]?.verified).toBe(false);
    expect(git(repo, "show", "HEAD:PLAN.md")).toContain("**Status:** Completed (not verified)");
    const tagged = scratchRepo({ "PLAN.md": HEADED.replace("**Status:** Pending\n\n", "") });
    await rehearse({ repo: tagged, config: { verify: "off" } });
    expect(git(tagged, "show", "HEAD:PLAN.md")).toContain("### Phase 1: First [COMPLETE (not verified)]");
    expect(git(repo, "log", "-1", "--format=%s")).toBe("Segno: Phase 1 - First ✓ (not verified)");
    expect(git(repo, "status", "--porcelain")).toBe("");
  });

  test("in worktrees, too: judged before it is merged", async () => {
    const beside = `# P\n\n### Phase 1: A\n\n**Depends On:** None\n\n- [ ] Create \`out/a.txt\`\n\n### Phase 2: B\n\n**Depends On:** None\n\n- [ ] Create \`out/b.txt\`\n`;
    const repo = scratchRepo({ "PLAN.md": beside });
    const run = await rehearse({ repo, config: { parallel: 2 } });
    expect(run.status).toBe("completed");
    expect(purposes(run).toSorted()).toEqual(["1 verify", "1 work", "2 verify", "2 work"]);
    expect(run.of("phase-done").map(({ verified }) => verified)).toEqual([true, true]);
    expect(git(repo, "show", "HEAD:PLAN.md").match(/\[COMPLETE\]/g)).toHaveLength(2);
  });
});

const PACKAGE = JSON.stringify({ scripts: { test: "test ! -f broken.txt", lint: "exit 3" } }, null, 2);

describe.concurrent("the project's own checks", () => {
  test("judge every phase as far as they pass before the first; the rest is named, and so is what nobody chose", async () => {
    const repo = scratchRepo({
      "PLAN.md": PLAN,
      "package.json": PACKAGE,
      ".github/workflows/ci.yml": "jobs:\n  a:\n    steps:\n      - run: ./deploy --check\n",
    });
    const run = await rehearse({ repo });
    expect(run.status).toBe("completed");
    expect(purposes(run)).toEqual(["1 work", "2 work"]);
    expect(run.of("gate-finished").map(({ name, passed }) => [name, passed])).toEqual([
      ["tests", true],
      ["tests", true],
    ]);
    expect(run.of("gates-baselined")).toMatchObject([{ results: [{ command: "CI=true npm test", passed: true }] }]);
    const said = run
      .of("warned")
      .map(({ message: text }) => text)
      .join("\n");
    expect(said).toContain("No gate is named, so npm test (package.json:3) judges every phase");
    expect(said).toContain("Not used as a gate, it does not pass as things are: npm run lint (package.json:4)");
    expect(said).toContain("Found, and not run, because nobody chose them: ./deploy --check");
    expect(run.of("phase-done").map(({ verified }) => verified)).toEqual([true, true]);
  });

  test("that change files are not used, and that is said", async () => {
    const scripts = { test: "date >> touched.txt" };
    const repo = scratchRepo({ "PLAN.md": HEADED, "package.json": JSON.stringify({ scripts }) });
    const run = await rehearse({ repo });
    expect(run.of("gate-finished")).toEqual([]);
    expect(
      run
        .of("warned")
        .map(({ message: text }) => text)
        .join(),
    ).toContain("it changes files of the repository: npm test");
  });

  test("fail a phase that breaks them, whatever its agent says", async () => {
    const repo = scratchRepo({ "PLAN.md": PLAN.replace("out/a.txt", "broken.txt"), "package.json": PACKAGE });
    const run = await rehearse({ repo, config: { max_remediations: 0 } });
    expect(run.status, JSON.stringify(run.of("warned"))).toBe("failed");
    expect(run.of("phase-failed")[0]).toMatchObject({ phase: "1", category: "gate_failed" });
  });

  test("are left alone where the plan has a gate, and with gates_found: off", async () => {
    const gated = scratchRepo({
      "PLAN.md": `${HEADED}\n#### Gates\n\n- there: (command: \`test -f out/a.txt\`)\n`,
      "package.json": PACKAGE,
    });
    expect((await rehearse({ repo: gated })).of("gate-finished").map(({ name }) => name)).toEqual(["there"]);
    const off = scratchRepo({ "PLAN.md": HEADED, "package.json": PACKAGE });
    const run = await rehearse({ repo: off, config: { gates_found: "off" } });
    expect(purposes(run)).toEqual(["1 work", "1 verify"]);
  });

  test("must pass in a fresh checkout where phases get one", async () => {
    const beside = `# P\n\n### Phase 1: A\n\n**Depends On:** None\n\n- [ ] Create \`out/a.txt\`\n`;
    const repo = scratchRepo({
      "PLAN.md": beside,
      "package.json": JSON.stringify({ scripts: { test: "test -f installed" } }),
      ".gitignore": "installed\n",
    });
    writeFileSync(join(repo, "installed"), "");
    const run = await rehearse({ repo, config: { parallel: 2 } });
    expect(run.of("gate-finished")).toEqual([]);
    expect(
      run
        .of("warned")
        .map(({ message: text }) => text)
        .join(),
    ).toContain("it does not pass as things are: npm test");
  });
});
