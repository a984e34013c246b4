/** Phases that are too large become sub-phases: real git, real Claude Code. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { answerQuestion } from "../../src/engine/questions.js";
import { readConversation } from "../../src/rehearsal/conversation.js";
import { call, message, say } from "../../src/rehearsal/reply.js";
import type { ModelRequest } from "../../src/rehearsal/request.js";
import { planFiles } from "../support/plans.js";
import { type RehearsalOptions, rehearse, resumeRehearsal } from "../support/rehearsal.js";
import { git, scratchFolder, scratchRepo } from "../support/scratch.js";
import { TOOL_PREFIX } from "../support/tool-prefix.js";

const TWELVE = Array.from({ length: 12 }, (_, n) => `20.${n + 1}`);
const GATES = ["true", "test $(ls out 2>/dev/null | wc -l) -ge 1 || test -d ."];
const LARGE = { id: "20", title: "The large one", tasks: 12, gates: GATES };
const large = () => scratchRepo(planFiles([LARGE]));

const request = (groups: readonly (readonly string[])[]) =>
  call(`${TOOL_PREFIX}phase_result`, {
    status: "split_request",
    summary: "This is too much for one session.",
    tasks_completed: [],
    tasks_remaining: TWELVE,
    files_modified: [],
    decisions: [],
    split_details: {
      reason: "12 tasks in three areas",
      recommended_sub_phases: groups.map((tasks, index) => ({ title: `Area ${index + 1}`, tasks: [...tasks] })),
    },
  });

const THREE = [TWELVE.slice(0, 4), TWELVE.slice(4, 8), TWELVE.slice(8)];

/** Asks for these splits, one after another, as long as it is answered with an error. */
const asking =
  (...requests: ReturnType<typeof request>[]): NonNullable<RehearsalOptions["behave"]> =>
  (asked, worker) => {
    const { phase, tools, turns } = readConversation(asked);
    if (phase !== "20" || !tools.has("Bash")) return worker(asked);
    const made = turns.flatMap((turn) => turn.calls.filter((each) => each.name.endsWith("phase_result")));
    if (made.some((each) => each.result?.isError === false)) return message(say("Waiting."));
    const next = requests[made.length];
    return next === undefined ? worker(asked) : message(next);
  };

const answers = (asked: ModelRequest[]): string[] =>
  asked.flatMap((each) =>
    readConversation(each)
      .turns.flatMap((turn) => turn.calls)
      .flatMap((made) => (made.name.endsWith("phase_result") && made.result?.isError ? [made.result.text] : [])),
  );

describe.concurrent("a phase that is too large", () => {
  test("asks for a split into three: all three at once, each verified, the parent's gates on the whole, the plan written back", async () => {
    const next = { id: "21", dependsOn: ["20"], gates: ["test $(ls out | wc -l) -ge 12"] };
    const repo = scratchRepo(planFiles([LARGE, next]));
    const run = await rehearse({ repo, behave: asking(request(THREE)) });
    expect(run.status).toBe("completed");
    const [split] = run.of("phase-split");
    expect(split).toMatchObject({ phase: "20", cause: "requested", reason: "12 tasks in three areas" });
    expect(split?.parts.map((part) => part.id)).toEqual(["20a", "20b", "20c"]);
    const parts = ["20a", "20b", "20c"];
    const firstDone = run.of("phase-done")[0]?.seq ?? 0;
    const started = run.of("session-started").filter((event) => parts.includes(event.phase) && event.seq < firstDone);
    expect(new Set(started.map((event) => event.phase)).size).toBe(3);
    expect(run.of("phase-done").map((event) => event.phase)).toEqual([
      ...run.of("phase-merged").map((event) => event.phase),
      "20",
      "21",
    ]);
    // The whole is judged by the phase's gates; its parts have none of their own.
    for (const event of run.of("phase-done")) expect(event.verified).toBe(!parts.includes(event.phase));
    expect(
      run
        .of("phase-done")
        .find((event) => event.phase === "20")
        ?.tasksDone.toSorted(),
    ).toEqual(TWELVE.toSorted());
    const gates = run.of("gate-finished").filter((event) => event.phase === "20");
    expect(gates.map((event) => event.passed)).toEqual([true, true]);
    expect(run.done.filter((task) => task.startsWith("20")).toSorted()).toEqual(
      THREE.flatMap((tasks, index) => tasks.map((task) => `${parts[index]}/${task}`)).toSorted(),
    );
    const written = git(repo, "show", "HEAD:plan/phase-20.md");
    expect(written).toContain("> **Split by Segno:** phase 20");
    for (const part of parts) expect(written).toMatch(new RegExp(`^> ${part} Area \\d \\(.*\\): Done`, "m"));
    expect(written).not.toContain("- [ ] 20.");
    expect(git(repo, "status", "--porcelain")).toBe("");
    expect(git(repo, "branch", "--list", "segno/*")).toBe("");
  });

  test("nonsense is answered so that the agent can correct it: no parts, one, lost, invented and doubled tasks", async () => {
    const repo = large();
    const seen: ModelRequest[] = [];
    const behave = asking(
      request([]),
      request([TWELVE]),
      request([TWELVE.slice(0, 4), TWELVE.slice(5)]),
      request([TWELVE.slice(0, 6), [...TWELVE.slice(6), "99.1"]]),
      request([TWELVE.slice(0, 7), TWELVE.slice(6)]),
      request([TWELVE.slice(0, 6), TWELVE.slice(6)]),
    );
    const run = await rehearse({
      repo,
      behave: (asked, worker) => {
        seen.push(asked);
        return behave(asked, worker);
      },
    });
    expect(run.status).toBe("completed");
    const said = [...new Set(answers(seen))];
    expect(said).toHaveLength(5);
    expect(said[0]).toContain("no entry");
    expect(said[1]).toContain("one entry");
    expect(said[2]).toContain("in no sub-phase: 20.5");
    expect(said[3]).toContain("not in this phase: 99.1");
    expect(said[4]).toContain("in two sub-phases: 20.7");
    expect(run.of("phase-split")[0]?.parts).toHaveLength(2);
  });

  test("with split: off the agent is told to go on, and does", async () => {
    const repo = large();
    const seen: ModelRequest[] = [];
    const run = await rehearse({
      repo,
      config: { split: "off" },
      behave: (asked, worker) => {
        seen.push(asked);
        return asking(request(THREE))(asked, worker);
      },
    });
    expect(run.status).toBe("completed");
    expect(answers(seen)[0]).toContain("splitting is switched off (split: off)");
    expect(run.of("phase-split")).toEqual([]);
    expect(run.done).toHaveLength(12);
  });

  test("with split: ask a person decides: whole, and it goes on as it is", async () => {
    const repo = large();
    let refused = false;
    const run = await rehearse({
      repo,
      config: { split: "ask" },
      behave: (asked, worker) => (refused ? worker(asked) : asking(request(THREE))(asked, worker)),
      onEvent: (event, held) => {
        if (event.type !== "question-asked" || held === undefined) return;
        expect(event.kind).toBe("split");
        expect(event.text).toContain("20a Area 1 (20.1, 20.2, 20.3, 20.4)");
        refused = true;
        setTimeout(() => answerQuestion(held.run, event.question, "w", "test"), 50);
      },
    });
    expect(run.status).toBe("completed");
    expect(run.of("phase-split")).toEqual([]);
    expect(run.done.filter((task) => task.startsWith("20/"))).toHaveLength(12);
  });

  test("sub-phases that name the same file wait for each other", async () => {
    const tasks = ["Write `one.txt`", "Write `shared.txt`", "Write `two.txt`", "Extend `shared.txt`"];
    const repo = scratchRepo(planFiles([{ id: "20", tasks, gates: ["test -f one.txt"] }]));
    const pairs = request([
      ["20.1", "20.2"],
      ["20.3", "20.4"],
    ]);
    const run = await rehearse({ repo, behave: asking(pairs) });
    expect(run.of("phase-serialised")).toMatchObject([{ phase: "20b", behind: "20a", files: ["shared.txt"] }]);
    expect(run.status).toBe("completed");
  });

  test("a part that fails fails its phase, and only then; a resume goes on with that part alone", async () => {
    const flag = join(scratchFolder(), "go");
    const tasks = ["Write `one.txt`", "Write `two.txt`"];
    const gate = `test ! -f two.txt || test -f ${flag}`;
    const repo = scratchRepo(planFiles([{ id: "20", tasks, gates: [gate] }]));
    const run = await rehearse({
      repo,
      config: { max_remediations: 0 },
      behave: asking(request([["20.1"], ["20.2"]])),
    });
    expect(run.status).toBe("failed");
    expect(run.of("phase-failed").map((event) => event.phase)).toEqual(["20b", "20"]);
    expect(run.of("phase-failed")[1]?.message).toContain("Of its sub-phases, 20b failed");
    expect(git(repo, "ls-files", "*.txt")).toBe("one.txt");
    writeFileSync(flag, "");
    expect(await resumeRehearsal(run)).toBe("completed");
    expect(git(repo, "ls-files", "*.txt")).toBe("one.txt\ntwo.txt");
    expect(run.of("phase-started").filter((event) => event.phase === "20a")).toHaveLength(1);
    expect(git(repo, "show", "HEAD:plan/phase-20.md")).toContain("**Status:** Completed");
  });
});
