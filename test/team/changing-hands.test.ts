/** A phase changes hands, at whatever moment: what the journal says was done is there, and nothing else is. */
import { execFileSync } from "node:child_process";
import { chmodSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { Agent } from "../../src/agents/agent.js";
import { LiveRun } from "../../src/engine/live-run.js";
import { answerQuestion } from "../../src/engine/questions.js";
import { appendToRun } from "../../src/engine/resume.js";
import { bringWorkBack, workRef } from "../../src/engine/safekeeping.js";
import { Git } from "../../src/git/git.js";
import { call } from "../../src/rehearsal/reply.js";
import type { Behaviour } from "../../src/rehearsal/server.js";
import type { FactType, RunEvent } from "../../src/run/event.js";
import { PgStore } from "../../src/store/postgres/store.js";
import type { PhaseJob } from "../../src/team/queues.js";
import { TeamRemote } from "../../src/team/remote.js";
import { workForTeam } from "../../src/team/worker.js";
import { eventually } from "../support/eventually.js";
import { whyNoPostgres } from "../support/postgres.js";
import { git, scratchFolder, scratchRepo } from "../support/scratch.js";
import { type TeamOfOne, teamOfOne } from "../support/team-of-one.js";

const slowly =
  (ms: number) =>
  (answers: Behaviour): Behaviour =>
  async (request) => {
    await sleep(ms);
    return answers(request);
  };

/** After each file the agent writes, it runs this, too. */
const alsoRuns =
  (command: string) =>
  (answers: Behaviour): Behaviour =>
  async (request) => {
    const reply = await answers(request);
    if (reply.type !== "message") return reply;
    const writes = reply.content.some((block) => block.type === "tool_use" && block.name === "Write");
    return writes ? { ...reply, content: [...reply.content, call("Bash", { command })] } : reply;
  };
const COMMITS = alsoRuns("git add -A && git -c user.name=a -c user.email=a@b commit -qm own");

const has = (events: readonly RunEvent[], type: FactType): boolean => events.some((event) => event.type === type);
const isOver = (events: readonly RunEvent[]): boolean =>
  events
    .slice(events.findLastIndex(({ type }) => type === "run-resumed") + 1)
    .some(({ type }) => /^run-(completed|failed|stopped)$/.test(type));
const letGoAfter = (events: readonly RunEvent[], type: FactType): boolean => {
  const asked = events.findIndex((event) => event.type === type);
  return asked >= 0 && has(events.slice(asked), "phase-let-go");
};
const files = ({ remote, run }: TeamOfOne): string[] =>
  git(remote, "ls-tree", "-r", "--name-only", `segno/${run}`, "out").split("\n");

const questionOf = (events: readonly RunEvent[]): string => {
  const asked = events.findLast((event) => event.type === "question-asked");
  return asked?.type === "question-asked" ? asked.question : "";
};

/** Jobs for phases that are there, held or not. */
async function waiting({ machine }: TeamOfOne): Promise<number> {
  const [row] = await machine.database.query<{ count: number }>(
    "SELECT count(*)::int AS count FROM pgboss.job WHERE state < 'completed' AND name LIKE '%phases%'",
  );
  return row?.count ?? 0;
}

/** Somebody takes phase 1 by hand, begins it where that is wanted, and is gone. */
async function heldByTheDead({ machine, run }: TeamOfOne, worker: string, begins: boolean) {
  const { queues, store } = machine;
  const ends = new AbortController();
  const working = workForTeam({ ...machine, offer: { ...machine.offer, slots: 0 } }, ends.signal);
  const wanted = { agents: ["claude"], labels: [] };
  let job: Awaited<ReturnType<typeof queues.take<PhaseJob>>>;
  await eventually("the phase is offered", async () => {
    job = await queues.take<PhaseJob>(await queues.within("phases", wanted));
    return job !== undefined;
  });
  const joined = await store.join(run, "1", (text) => text);
  if (joined === undefined || job === undefined) throw new Error("it could not be taken");
  const live = new LiveRun(joined.journal, joined.events);
  live.append({ type: "phase-taken", phase: "1", worker, lease: joined.epoch, from: undefined });
  const { head } = live.state;
  const [command] = live.state.inFlight.keys();
  const origin = { head, baseline: head, staged: [], worktree: { branch: `segno/${run}/1` } };
  if (begins) await live.record({ type: "phase-started", command: command ?? "", phase: "1", attempt: 1, ...origin });
  await live.close();
  const leaves = (): Promise<void> => {
    ends.abort();
    return working;
  };
  return { job, leaves };
}

describe.skipIf(whyNoPostgres() !== undefined)("a phase that changes hands", () => {
  test("what its agent committed by itself goes along, and lands", async () => {
    const team = await teamOfOne([{ id: "1", tasks: 2, gates: ["manual"] }], { behave: COMMITS, attended: true });
    const asked = await team.workUntil("it asks, and is let go", (events) => letGoAfter(events, "question-asked"));
    await team.ask("answer", { question: questionOf(asked), answer: "pass" });
    expect(has(await team.workUntil("it is over", isOver), "run-completed")).toBe(true);
    expect(files(team)).toEqual(["out/1-1.txt", "out/1-2.txt"]);
    expect(team.done).toEqual(["1/1.1", "1/1.2"]);
  });

  test("what it had open, and its agent had committed, goes along while it is under way", async () => {
    const team = await teamOfOne([{ id: "1", tasks: 10 }], {
      behave: (answers) => slowly(300)(COMMITS(answers)),
      longestLeaseMs: 4_000,
    });
    const events = await team.workUntil("it is over", isOver);
    expect(has(events, "run-completed")).toBe(true);
    expect(events.filter(({ type }) => type === "phase-taken").length).toBeGreaterThan(1);
    expect(files(team)).toHaveLength(10);
    expect(team.done).toHaveLength(10);
  });

  test("it failed, and is begun again: what it left is there, and its tasks are not done again", async () => {
    const team = await teamOfOne([{ id: "1", tasks: 2, gates: ["test -f ready"] }], {
      settings: { max_remediations: 0 },
    });
    await team.workUntil("it failed", (events) => isOver(events) && letGoAfter(events, "phase-failed"));
    await team.resume();
    const seen: string[] = [];
    team.machine.equipment = seeing(team, seen);
    await team.workUntil("it failed again", (events) => events.filter(({ type }) => type === "run-failed").length > 1);
    expect(team.done).toEqual(["1/1.1", "1/1.2"]);
    expect(seen).toEqual(["out/1-1.txt out/1-2.txt"]);
  });

  test("a person says later, when nobody holds it: it fails with what it left, and that is asked about", async () => {
    const team = await teamOfOne([{ id: "1", tasks: 1, gates: ["manual"] }], { attended: true });
    const asked = await team.workUntil("it asks, and is let go", (events) => letGoAfter(events, "question-asked"));
    await team.ask("answer", { question: questionOf(asked), answer: "later" });
    await team.workUntil("it asks about the failure", (events) =>
      events.some((event) => event.type === "question-asked" && event.kind === "failure"),
    );
    expect(team.said.filter((line) => line.includes("takes nothing new"))).toEqual([]);
  });

  test("a stop while nobody holds it ends the run, once somebody can commit what is open", async () => {
    const team = await teamOfOne([{ id: "1", tasks: 2 }]);
    const { job, leaves } = await heldByTheDead(team, "w9", true);
    await team.machine.queues.finish(job);
    await team.ask("stop");
    const isCommit = (event: RunEvent): boolean => event.type === "command-issued" && event.command.type === "commit";
    await eventually("what is open is to be committed", async () => (await team.read()).some(isCommit));
    await eventually("that is offered", async () => (await waiting(team)) > 0, 20);
    await leaves();
    const before = (await team.read()).length;
    const events = await team.workUntil("it is over", isOver);
    expect(has(events, "run-stopped")).toBe(true);
    expect(events.length - before).toBeLessThan(40);
    expect(before).toBeLessThan(60);
  });

  test("whoever held it when the run came to rest does not hold it when it goes on", async () => {
    const team = await teamOfOne([{ id: "1", tasks: 2 }]);
    const { leaves } = await heldByTheDead(team, "w1", false);
    await team.ask("stop");
    await team.ask("stop");
    await leaves();
    // The worker is started again, and finds the job that it had.
    await team.workUntil("its old job is gone", async () => (await waiting(team)) === 0);
    await team.resume();
    expect(has(await team.workUntil("it is over", isOver), "run-completed")).toBe(true);
  });

  test("a pause that lasts, and goes on: its session is over, and nothing is said to be wrong", async () => {
    const team = await teamOfOne([{ id: "1", tasks: 4 }], {
      behave: slowly(200),
    });
    let paused = false;
    await team.workUntil("it pauses, and is let go", async (events) => {
      if (!paused && has(events, "progress-reported")) {
        paused = true;
        await team.ask("pause");
      }
      return letGoAfter(events, "run-held");
    });
    await team.ask("continue");
    const events = await team.workUntil("it is over", isOver);
    expect(has(events, "run-completed")).toBe(true);
    expect(team.said.filter((line) => line.includes("takes nothing new"))).toEqual([]);
    expect(new Set(team.done).size).toBe(4);
    // The one that was in flight may have been written, and not reported.
    expect(team.done.length).toBeLessThanOrEqual(5);
  });

  test("an answer given past the door takes the lease from nobody", async () => {
    const team = await teamOfOne([{ id: "1", tasks: 1, gates: ["manual"] }], { attended: true });
    let answered = false;
    const events = await team.workUntil("it is over", async (now) => {
      if (!answered && letGoAfter(now, "question-asked")) {
        answered = true;
        const question = questionOf(now);
        const store = new PgStore(team.machine.database, { repo: "r", worker: "a person" });
        await appendToRun(store, team.run, (run) => answerQuestion(run, question, "pass", "segno answer"));
        const lease = (await store.leases()).find(({ scope }) => scope === "");
        expect(lease?.worker).toBe("w1");
      }
      return isOver(now);
    });
    expect(has(events, "run-completed")).toBe(true);
    expect(events.filter(({ type }) => type === "run-taken")).toHaveLength(1);
  });

  test("a conflict that waits for its repair goes along: it is merged anew and repaired", async () => {
    const team = await teamOfOne(
      [
        { id: "1", tasks: 1 },
        { id: "2", tasks: 1 },
      ],
      { behave: alsoRuns("ls out > same.txt") },
    );
    await team.workUntil("there is a conflict", (events) =>
      events.some((event) => event.type === "merge-begun" && event.conflicts.length > 0),
    );
    const events = await team.workUntil("it is over", isOver);
    expect(has(events, "run-completed"), JSON.stringify(events.slice(-12))).toBe(true);
    expect(files(team)).toEqual(["out/1-1.txt", "out/2-1.txt"]);
  });

  test("a retry that is taken later, after a word about it: what was left is there", async () => {
    const team = await teamOfOne([{ id: "1", tasks: 2, gates: ["test -f ready"] }], {
      settings: { max_remediations: 0 },
    });
    await team.workUntil("it failed", (events) => isOver(events) && letGoAfter(events, "phase-failed"));
    await team.resume();
    const { slots, ...offer } = team.machine.offer;
    team.machine.offer = { ...offer, slots: 0 };
    await team.workUntil("it is to be begun", (events) => events.at(-1)?.type === "command-issued");
    const joined = await team.machine.store.steer(team.run, (text) => text);
    if (joined === undefined) throw new Error("the run is gone");
    const live = new LiveRun(joined.journal, joined.events);
    await live.record({ type: "plan-edited-by-agent", phase: "1", attempt: 2, files: [], seen: [] });
    await live.close();
    team.machine.offer = { ...offer, slots };
    const seen: string[] = [];
    team.machine.equipment = seeing(team, seen);
    await team.workUntil("it failed again", (events) => events.filter(({ type }) => type === "run-failed").length > 1);
    expect(seen).toEqual(["out/1-1.txt out/1-2.txt"]);
  });

  test("one that waits is let go, whatever others do meanwhile", async () => {
    const team = await teamOfOne(
      [
        { id: "1", tasks: 1, gates: ["manual"] },
        { id: "2", tasks: 60 },
      ],
      { behave: slowly(250), attended: true },
    );
    const events = await team.workUntil("phase 1 is let go", (now) =>
      now.some((event) => event.type === "phase-let-go" && event.phase === "1"),
    );
    expect(events.some((event) => event.type === "phase-merged" && event.phase === "2")).toBe(false);
  });

  test("one that nobody can take is skipped all the same; what was done of it stays on the remote", async () => {
    const team = await teamOfOne([{ id: "1", tasks: 6, fields: "**Needs:** gpu" }, { id: "2" }], {
      behave: slowly(250),
    });
    const { labels, ...offer } = team.machine.offer;
    team.machine.offer = { ...offer, labels: ["gpu"] };
    await team.workUntil("a task is done, and its worker ends", (events) =>
      events.some((event) => event.type === "progress-reported" && event.phase === "1"),
    );
    team.machine.offer = { ...offer, labels };
    await team.ask("skip", { phase: "1" });
    const events = await team.workUntil("it is over", isOver);
    expect(has(events, "run-completed")).toBe(true);
    const kept = events.flatMap((event) => (event.type === "commit-made" && event.phase === "1" ? [event.sha] : []));
    expect(kept.length).toBeGreaterThan(0);
    const refs = git(team.remote, "for-each-ref", "--format=%(objectname)", `refs/segno/${team.run}`);
    expect(refs.split("\n")).toContain(kept.at(-1));
  });

  test("whoever conducted a run and ended moves its branch no more", async () => {
    const team = await teamOfOne([{ id: "1", tasks: 1 }]);
    const hook = join(team.remote, "hooks/update");
    const away = join(team.remote, "away");
    // From the moment the landing is tried, the remote does not answer; that is no refusal.
    writeFileSync(
      hook,
      `#!/bin/sh\ncase $1 in refs/heads/segno/*) [ -f '${away}' ] && kill -9 $PPID ;; esac\nexit 0\n`,
    );
    chmodSync(hook, 0o755);
    writeFileSync(away, "");
    await team.workUntil("it cannot be reached", (events) => has(events, "warned"));
    rmSync(away);
    await sleep(6_000);
    const events = await team.read();
    expect(has(events, "phase-merged")).toBe(false);
    const [first] = events;
    expect(git(team.remote, "rev-parse", `segno/${team.run}`)).toBe(first?.type === "run-started" ? first.head : "");
    expect(has(await team.workUntil("it is over", isOver), "run-completed")).toBe(true);
  });

  test("a secret in its open work is not sent anywhere", async () => {
    const key = `sk-ant-api03-${"Ab1".repeat(31)}AA`;
    const team = await teamOfOne([{ id: "1", tasks: 1 }], {
      behave: (answers) =>
        alsoRuns(`echo "KEY=${key}" > notes.txt; git add -A; git -c user.name=a -c user.email=a@b commit -qm own`)(
          answers,
        ),
      settings: { max_remediations: 0 },
    });
    const events = await team.workUntil("it is over", isOver);
    expect(has(events, "progress-reported")).toBe(true);
    const objects = execFileSync("git", ["cat-file", "--batch-all-objects", "--batch"], {
      cwd: team.remote,
      maxBuffer: 1e9,
    });
    expect(objects.includes("out/1-1.txt")).toBe(true);
    expect(objects.includes(key)).toBe(false);
    expect(events.some((event) => event.type === "warned" && event.message.includes("notes.txt is not sent"))).toBe(
      true,
    );
  });

  test("what the remote refuses is said in its words: open work is kept here, a commit fails its phase", async () => {
    const team = await teamOfOne([{ id: "1", tasks: 1 }]);
    const hook = join(team.remote, "hooks/update");
    writeFileSync(
      hook,
      `#!/bin/sh\ncase $1 in refs/heads/*) exit 0 ;; esac\necho "no refs like $1 here" >&2\nexit 1\n`,
    );
    chmodSync(hook, 0o755);
    const events = await team.workUntil("it is over", isOver);
    const said = JSON.stringify(events.filter(({ type }) => /warned|commit-failed/.test(type)));
    expect(said).toContain("hook declined");
    expect(said).toContain("no refs like");
    expect(has(events, "commit-failed")).toBe(true);
  });
});

/** Says which files there are when an agent begins. */
function seeing({ machine }: TeamOfOne, seen: string[]): typeof machine.equipment {
  const before = machine.equipment;
  return async (state) => {
    const equipment = await before(state);
    const { agent } = equipment;
    const open: Agent["open"] = (options) => {
      seen.push(git(options.cwd, "ls-files", "--others", "--cached", "out").replaceAll("\n", " "));
      return agent.open(options);
    };
    return { ...equipment, agent: Object.assign(Object.create(agent) as Agent, { open }) };
  };
}

describe("open work that others kept", () => {
  test("comes back only over the commit it was built on: nothing that was taken back since returns", async () => {
    const repo = scratchRepo({ "a.txt": "v0\n", "old.txt": "x\n" });
    const remote = join(scratchFolder(), "r.git");
    git(repo, "clone", "--quiet", "--bare", repo, remote);
    const clone = new Git(repo);
    const at = (epoch: number): TeamRemote =>
      new TeamRemote({
        ...{ git: clone, url: remote, run: "R", branch: "main", epoch },
        signal: new AbortController().signal,
        onTrouble: (why) => expect.unreachable(why),
      });
    const base = git(repo, "rev-parse", "HEAD");
    writeFileSync(join(repo, "a.txt"), "v2\n");
    git(repo, "add", "--all");
    const note = JSON.stringify({ tree: git(repo, "write-tree"), base, tip: base, tasks: ["1.1"] });
    const blob = (await clone.raw(["hash-object", "-w", "--stdin"], { input: note })).trim();
    git(repo, "update-ref", workRef("R", "1", "note"), blob);
    git(repo, "update-ref", workRef("R", "1", "tree"), git(repo, "write-tree"));
    await at(2).sendOpenWork("1");
    // Whoever held it next took the change back, and committed.
    writeFileSync(join(repo, "a.txt"), "v0\n");
    git(repo, "mv", "old.txt", "new.txt");
    git(repo, "add", "--all");
    git(repo, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "next");
    git(repo, "update-ref", "-d", workRef("R", "1", "note"));
    await at(4).recover("1");
    const held = { run: { state: { run: "R" } } } as Parameters<typeof bringWorkBack>[0];
    expect(await bringWorkBack(held, "1", clone, git(repo, "rev-parse", "HEAD"))).toEqual([]);
    expect(git(repo, "status", "--porcelain")).toBe("");
    expect(await bringWorkBack(held, "1", clone, base)).toEqual(["1.1"]);
  });

  test("comes back over what the agent committed meanwhile, where that is still there", async () => {
    const repo = scratchRepo({ "a.txt": "v0\n" });
    const clone = new Git(repo);
    const base = git(repo, "rev-parse", "HEAD");
    writeFileSync(join(repo, "n.txt"), "one\n");
    git(repo, "add", "--all");
    git(repo, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "own");
    writeFileSync(join(repo, "n.txt"), "two\n");
    git(repo, "add", "--all");
    const note = { tree: git(repo, "write-tree"), base, tip: git(repo, "rev-parse", "HEAD"), tasks: ["1.1"] };
    const blob = (await clone.raw(["hash-object", "-w", "--stdin"], { input: JSON.stringify(note) })).trim();
    git(repo, "update-ref", workRef("R", "1", "note"), blob);
    git(repo, "reset", "--quiet", "--hard");
    const held = { run: { state: { run: "R" } } } as Parameters<typeof bringWorkBack>[0];
    expect(await bringWorkBack(held, "1", clone, base)).toEqual(["1.1"]);
    expect(readFileSync(join(repo, "n.txt"), "utf8")).toBe("two\n");
  });
});
