/** One worker of a team, in this process: a real PostgreSQL, a bare remote, the agent in process. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { configSchema } from "../../src/config/schema.js";
import type { Equipment } from "../../src/engine/held-run.js";
import { preparePlan } from "../../src/engine/start.js";
import { rehearsalEnv } from "../../src/rehearsal/stage.js";
import { worker } from "../../src/rehearsal/worker.js";
import type { RunEvent } from "../../src/run/event.js";
import { openTeam } from "../../src/team/open.js";
import { startTeamRun } from "../../src/team/start.js";
import { workForTeam } from "../../src/team/worker.js";
import { inProcessAgent } from "../support/in-process-agent.js";
import { planFiles } from "../support/plans.js";
import { teamDatabase, whyNoPostgres } from "../support/postgres.js";
import { git, scratchFolder, scratchRepo, whenOver } from "../support/scratch.js";

const PHASES = ["1", "2", "3"].map((id) => ({ id, tasks: 2, gates: [`test -f out/${id}-2.txt`] }));
const LAST = { id: "4", dependsOn: ["1", "2", "3"], gates: ["test $(ls out | wc -l) -eq 7"] };

describe.skipIf(whyNoPostgres() !== undefined)("a team of one", () => {
  test("does all phases of a plan, each once, on the remote's branch, and leaves the user's clone alone", async () => {
    const config = await teamDatabase();
    const options = { repo: "r", worker: "w1", supervises: true, migrates: true };
    const team = await openTeam(config, options);
    whenOver(() => team.close());
    const repo = scratchRepo(planFiles([...PHASES, LAST]));
    const url = join(scratchFolder(), "remote.git");
    execFileSync("git", ["clone", "--quiet", "--bare", repo, url]);
    const done: string[] = [];
    const home = scratchFolder();
    const behaviour = worker({
      charsPerTask: 0,
      onTask: ({ phase, task }) => void done.push(`${phase}/${task}`),
      onRefused: () => {},
    });
    const agent = inProcessAgent({ window: 200_000, behaviour, onExchange: () => {} });
    const env = rehearsalEnv({ folder: home, repository: repo, home }, "http://127.0.0.1:9");
    const events: RunEvent[] = [];
    const equipment: Equipment = {
      agent,
      agentEnv: env,
      gateEnv: env,
      isolated: true,
      permissions: "all",
      worktrees: join(home, "worktrees"),
      onEvent: () => {},
    };
    const prepared = await preparePlan(repo, "PLAN.md", {});
    if (!prepared.ok) throw new Error(JSON.stringify(prepared.failure));
    const redact = (text: string): string => text;
    const started = await startTeamRun(
      { url, store: team.store, queues: team.queues, redact },
      prepared.value,
      {
        cwd: repo,
        config: configSchema.parse({ model: "claude-sonnet-4-5", permission_mode: "all" }),
        mode: "rehearsal",
        gates: "block",
        allowDirty: false,
      },
      equipment,
    );
    if (!started.ok) throw new Error(JSON.stringify(started.failure));
    const run = started.value;
    const ends = new AbortController();
    const said: string[] = [];
    const machine = {
      offer: { version: "0", host: "here", instance: "i", slots: 2, agents: { claude: "default" }, labels: [] },
      ...{ worker: "w1", url, folder: join(home, "team"), redact },
      ...{ store: team.store, database: team.database, queues: team.queues },
      equipment: async () => equipment,
      say: (text: string) => void said.push(text),
    };
    const working = workForTeam(machine, ends.signal);
    const over = new Promise<void>((resolve) => {
      void team.store.watch(run, (more) => {
        events.push(...more);
        if (more.some(({ type }) => /^run-(completed|failed|stopped)$/.test(type))) resolve();
      });
    });
    await over;
    ends.abort();
    await working;
    expect(
      events.map(({ type }) => type),
      said.join("\n"),
    ).toContain("run-completed");
    expect(done.toSorted()).toEqual(["1/1.1", "1/1.2", "2/2.1", "2/2.2", "3/3.1", "3/3.2", "4/4.1"]);
    const branch = `segno/${run}`;
    expect(git(url, "ls-tree", "-r", "--name-only", branch, "out").split("\n")).toHaveLength(7);
    expect(git(url, "show", `${branch}:PLAN.md`)).not.toContain("Pending");
    expect(git(url, "log", "--first-parent", "--format=%s", branch).split("\n")).toHaveLength(5);
    expect(git(repo, "status", "--porcelain")).toBe("");
    expect(git(repo, "branch", "--format=%(refname:short)")).toBe("main");
  });
});
