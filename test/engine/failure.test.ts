/** A phase that fails holds no more than it must: others go on, and what it left comes back with its next attempt. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { HeldRun } from "../../src/engine/held-run.js";
import { answerQuestion } from "../../src/engine/questions.js";
import { openQuestions } from "../../src/run/questions.js";
import { eventually } from "../support/eventually.js";
import { planFiles } from "../support/plans.js";
import { type RehearsalOptions, rehearse, resumeRehearsal } from "../support/rehearsal.js";
import { git, scratchRepo } from "../support/scratch.js";

const TWO = [{ id: "1", gates: ["test -f wanted.txt"] }, { id: "2" }];

/** Answers the question about phase 1 once phase 2 is done. */
function afterTheOther(answer: string, before: (held: HeldRun) => void = () => {}) {
  let answered = false;
  const onEvent: NonNullable<RehearsalOptions["onEvent"]> = (_, held) => {
    if (held === undefined || answered || held.run.state.phases.get("2")?.step !== "done") return;
    const [question] = openQuestions(held.run.state);
    if (question === undefined) return;
    answered = true;
    queueMicrotask(() => {
      before(held);
      void answerQuestion(held.run, question.id, answer, "test");
    });
  };
  return onEvent;
}

const committedBy = (repo: string, phase: string): string[] =>
  git(repo, "log", "--format=%H", `--grep=Segno-Phase: ${phase}$`)
    .split("\n")
    .filter((sha) => sha !== "")
    .flatMap((sha) => git(repo, "show", "--format=", "--name-only", sha).split("\n"))
    .filter((path) => path.startsWith("out/"));

describe.concurrent("a failed phase in a run that works on one at a time", () => {
  test("its question is open, and the other phase is done meanwhile, without what the failed one left", async () => {
    const repo = scratchRepo(planFiles(TWO));
    const run = await rehearse({
      repo,
      attended: true,
      config: { max_remediations: 0 },
      onEvent: afterTheOther("leave"),
    });
    expect(run.status).toBe("failed");
    expect(run.of("phase-done").map(({ phase }) => phase)).toEqual(["2"]);
    expect(committedBy(repo, "2")).toEqual(["out/2-1.txt"]);
    expect(git(repo, "status", "--porcelain", "--", "out")).toBe("");
    const [aside] = run.of("phase-set-aside");
    expect(git(repo, "show", `${aside?.ref}:out/1-1.txt`)).toContain("1.1");
    expect(aside?.stayed).toEqual([]);
  });

  test("accepted, it comes back into a checkout in which another has worked, and is committed", async () => {
    const repo = scratchRepo(planFiles(TWO));
    const run = await rehearse({
      repo,
      attended: true,
      config: { max_remediations: 0 },
      onEvent: afterTheOther("continue"),
    });
    expect(run.status).toBe("completed");
    expect(git(repo, "ls-files", "out").split("\n")).toEqual(["out/1-1.txt", "out/2-1.txt"]);
    expect(git(repo, "status", "--porcelain")).toBe("");
    expect(run.of("phase-done").find(({ phase }) => phase === "1")?.verified).toBe(false);
  });

  test("revise waits for the text to change, whoever is fast; then the next attempt has what the first one left", async () => {
    const repo = scratchRepo(planFiles(TWO));
    const file = join(repo, "plan/phase-1.md");
    const run = await rehearse({
      repo,
      attended: true,
      config: { max_remediations: 0 },
      onEvent: afterTheOther("revise", ({ run: live }) => {
        const answered = () => live.state.phases.get("1")?.step === "failed" && openQuestions(live.state).length === 0;
        void eventually("it waits", answered).then(() => {
          expect(live.state.sessions.size).toBe(2);
          writeFileSync(file, readFileSync(file, "utf8").replace("test -f wanted.txt", "test -f out/1-1.txt"));
        });
      }),
    });
    expect(run.status).toBe("completed");
    expect(run.of("phase-revised").map(({ phase }) => phase)).toEqual(["1"]);
    // Its task was done once: it came back.
    expect(run.done).toEqual(["1/1.1", "2/2.1"]);
    expect(committedBy(repo, "1")).toEqual(["out/1-1.txt"]);
  });

  test("a change of its words alone is a revision, too", async () => {
    const repo = scratchRepo(planFiles([{ id: "1", gates: ["test -f hint.txt"] }]));
    const file = join(repo, "plan/phase-1.md");
    const run = await rehearse({
      repo,
      attended: true,
      config: { max_remediations: 0 },
      onEvent: (event, held) => {
        if (event.type !== "question-asked" || held === undefined || event.phase !== "1") return;
        if (held.run.state.phases.get("1")?.step !== "failed") return;
        const again = held.run.state.resumes + held.run.state.sessions.size > 1;
        queueMicrotask(() => {
          writeFileSync(file, `${readFileSync(file, "utf8")}\nA hint for the next attempt.\n`);
          void answerQuestion(held.run, event.question, again ? "leave" : "revise", "test");
        });
      },
    });
    expect(run.of("phase-started").map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(JSON.stringify(run.exchanges.at(-1)?.request)).toContain("A hint for the next attempt.");
  });

  test("nobody is asked: the other goes on, too, and a resume brings back what was left", async () => {
    const repo = scratchRepo({ ...planFiles(TWO), ".gitignore": "wanted.txt\n" });
    const run = await rehearse({ repo, config: { max_remediations: 0 } });
    expect(run.status).toBe("failed");
    expect(run.of("question-asked")).toEqual([]);
    expect(committedBy(repo, "2")).toEqual(["out/2-1.txt"]);
    expect(git(repo, "status", "--porcelain", "--", "out")).toBe("");
    writeFileSync(join(repo, "wanted.txt"), "");
    expect(await resumeRehearsal(run)).toBe("completed");
    expect(committedBy(repo, "1")).toEqual(["out/1-1.txt"]);
    expect(run.done).toEqual(["1/1.1", "2/2.1"]);
  });
});
