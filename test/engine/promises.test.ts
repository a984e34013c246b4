/** What earlier descriptions of Segno promise, each as a user would see it. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Crew } from "../../src/agents/crew.js";
import { kindsIn, readConversation } from "../../src/rehearsal/conversation.js";
import { call, message } from "../../src/rehearsal/reply.js";
import { firstly } from "../support/behaviours.js";
import { planFiles } from "../support/plans.js";
import { rehearse } from "../support/rehearsal.js";
import { git, scratchRepo } from "../support/scratch.js";

const result = (fields: Record<string, unknown>) =>
  message(
    call("mcp__segno__phase_result", {
      status: "completed",
      summary: "s",
      tasks_completed: [],
      tasks_remaining: [],
      files_modified: [],
      decisions: [],
      ...fields,
    }),
  );

describe.concurrent("splits", () => {
  test("a repair may ask for one: its parts repair, in the order it names, and the whole is judged again", async () => {
    const repo = scratchRepo(planFiles([{ id: "1", tasks: 4, gates: ["test -f a.txt && test -f b.txt"] }]));
    const order: string[] = [];
    const run = await rehearse({
      repo,
      behave: (request, worker) => {
        const { phase, prompt, tools, turns } = readConversation(request);
        if (!tools.has("Bash")) return worker(request);
        if (phase === "1" && kindsIn(prompt).includes("remediate"))
          return result({
            status: "split_request",
            split_details: {
              reason: "two files are missing",
              recommended_sub_phases: [
                { title: "Write a", tasks: ["1.1", "1.2"] },
                { title: "Write b", tasks: ["1.3", "1.4"], depends_on: ["Write a"] },
              ],
            },
          });
        const part = /^1([ab])$/.exec(phase)?.[1];
        if (part === undefined) return worker(request);
        if (turns.some((turn) => turn.calls.some((made) => made.name === "Write"))) return worker(request);
        order.push(phase);
        return message(call("Write", { file_path: `${part}.txt`, content: "there\n" }));
      },
    });
    expect(run.status, JSON.stringify(run.of("phase-failed"))).toBe("completed");
    expect(run.of("phase-split")).toMatchObject([{ cause: "requested", phase: "1" }]);
    expect(run.of("phase-split")[0]?.parts.map(({ dependsOn }) => dependsOn)).toEqual([[], ["1a"]]);
    expect(order).toEqual(["1a", "1b"]);
    expect(run.of("phase-done").find(({ phase }) => phase === "1")?.verified).toBe(true);
    expect(git(repo, "ls-tree", "--name-only", "HEAD").split("\n")).toEqual(expect.arrayContaining(["a.txt", "b.txt"]));
    // What Segno writes of the parts into the plan is its own.
    expect(run.of("plan-edited-by-agent")).toEqual([]);
  });
});

describe.concurrent("progress and handoffs", () => {
  test("a call of the other tool's progress skill counts as reported, with its task", async () => {
    const repo = scratchRepo(planFiles([{ id: "1", tasks: 2 }]));
    const run = await rehearse({
      repo,
      onHeld: (held) => {
        const { own } = held.crew;
        const { open } = own;
        held.crew = new Crew({
          ...own,
          open: (options) => {
            options.handlers.observe({
              type: "tool",
              id: "t1",
              kind: "other",
              name: "Skill",
              brief: "debussy-progress 1.1: the parser is written",
              ok: true,
              subagent: false,
              call: "a",
              result: "b",
              edit: undefined,
            });
            return open(options);
          },
        });
      },
    });
    expect(run.status).toBe("completed");
    expect(run.of("progress-reported")[0]).toMatchObject({ task: "1.1", message: "1.1: the parser is written" });
  });

  test("a failed phase has a report with a path: what failed, what it printed, which sessions there were", async () => {
    const repo = scratchRepo(planFiles([{ id: "1", gates: ["echo the-reason; false"] }]));
    const run = await rehearse({ repo, config: { max_remediations: 1 } });
    expect(run.status).toBe("failed");
    const report = readFileSync(join(repo, ".segno/debug/phase-1.md"), "utf8");
    expect(report).toContain("# Phase 1, Phase 1: gate_failed");
    expect(report).toMatch(/FAILED: gate 1 \(exit 1\)[\s\S]*echo the-reason; false[\s\S]*the-reason/);
    expect(report).toMatch(/- 1\/a1\/session\/1: work[\s\S]*- 1\/a1\/session\/2: remediate/);
  });

  test("with handoff_dir a phase that cannot go on leaves its handoff beside its file, committed, and a clone goes on", async () => {
    const files = planFiles([{ id: "1", tasks: 3 }]);
    const repo = scratchRepo(files);
    const fails = firstly(
      call("mcp__segno__phase_result", {
        status: "failed",
        summary: "It cannot go on.",
        tasks_completed: [],
        tasks_remaining: ["1.1"],
        files_modified: [],
        decisions: [],
        failure_category: "stuck",
      }),
    );
    const run = await rehearse({ repo, behave: fails, config: { handoff_dir: "phase" } });
    expect(run.status).toBe("failed");
    expect(git(repo, "ls-tree", "-r", "--name-only", "HEAD")).toContain("plan/HANDOFF.md");
    expect(existsSync(join(repo, ".segno/HANDOFF.md"))).toBe(false);
    expect(git(repo, "status", "--porcelain", "--untracked-files=no").split("\n")).not.toContain(" D plan/HANDOFF.md");
    const clone = join(scratchRepo({}), "clone");
    git(repo, "clone", "--quiet", repo, clone);
    const again = await rehearse({ repo: clone, config: { handoff_dir: "phase" } });
    expect(again.status).toBe("completed");
    expect(again.of("warned").map(({ message: said }) => said)).toContainEqual(
      expect.stringContaining("goes on from plan/HANDOFF.md"),
    );
  });

  test("handovers that bring nothing wait as long as restart_backoff_seconds says, longer each time", async () => {
    const repo = scratchRepo(planFiles([{ id: "1", tasks: 1 }]));
    const noise =
      'i=0; while [ $i -lt 160 ]; do i=$((i+1)); echo "line $i: compiled module, checked types, resolved imports $RANDOM"; done';
    let n = 0;
    const run = await rehearse({
      repo,
      config: { context_limit: 36_000, max_restarts: 2, restart_backoff_seconds: 0.2, stuck_limit: 0, split: "off" },
      behave: (request, worker) => {
        const { tools, turns } = readConversation(request);
        if (!tools.has("Bash") || JSON.stringify(request.messages).includes("<!-- segno: checkpoint -->"))
          return worker(request);
        return turns.length > 8
          ? worker(request)
          : message(call("Bash", { command: `${noise} # ${++n}`, description: "look" }));
      },
    });
    const ended = run.of("session-ended").filter(({ reason }) => reason === "handed-over");
    const waits = run
      .of("session-started")
      .slice(1)
      .map(({ at }, index) => Date.parse(at) - Date.parse(ended[index]?.at ?? at));
    expect(waits.length).toBeGreaterThanOrEqual(2);
    expect(waits[0]).toBeGreaterThanOrEqual(200);
    expect(waits[1]).toBeGreaterThanOrEqual(400);
  });
});

describe.concurrent("prompts", () => {
  test("name the project's and the plan's own standards, the wave, who else is at work, and the estimate", async () => {
    const files = planFiles([{ id: "1" }, { id: "2" }, { id: "3", dependsOn: ["1", "2"] }]);
    const repo = scratchRepo({
      ...files,
      "PLAN.md": `${files["PLAN.md"]}\n## Project Standards\n\n- Two spaces.\n`,
      "plan/phase-3.md": (files["plan/phase-3.md"] ?? "").replace(
        "**Status:**",
        "**Estimated time:** 2 hours\n**Status:**",
      ),
      "AGENTS.md": "# How to work here\n",
    });
    const run = await rehearse({ repo, config: { parallel: 2 } });
    expect(run.status).toBe("completed");
    const prompts = new Map<string, string>();
    for (const { phase, prompt } of run.of("session-started"))
      prompts.set(phase, (await run.held.store.getBlob(run.held.run.state.run, prompt)) ?? "");
    expect(prompts.get("1")).toContain("standards are in AGENTS.md, PLAN.md (Project Standards)");
    expect(prompts.get("1")).toMatch(/Wave 1 of 2 of the plan\. At work at the same time, elsewhere: 2 Phase 2\./);
    expect(prompts.get("3")).toContain("Wave 2 of 2 of the plan. The plan estimates 2 hours for this phase.");
  });
});
