/** Runs of other vendors' agents from beginning to end: handovers, gates, commits, marks, and nothing left behind. */
import { execFileSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { findProcesses } from "../../src/agents/processes.js";
import { planFiles } from "../support/plans.js";
import { git, scratchRepo } from "../support/scratch.js";
import { CODEX, COPILOT_SDK, eventsOf, GEMINI, OPENCODE, type Site, site } from "../support/segno.js";

const PLAN = {
  ...planFiles([
    { id: "1", tasks: 3, gates: ["test -f out/1-3.txt"] },
    { id: "2", tasks: 3, dependsOn: ["1"], gates: ["test -f out/2-3.txt"] },
  ]),
  // Copilot makes no folders for a file.
  "out/.keep": "",
};
const MOMENTS = Number(process.env.MOMENTS ?? 20);
const TASKS = ["1/1.1", "1/1.2", "1/1.3", "2/2.1", "2/2.2", "2/2.3"];

/** Codex leaves files; opencode is asked for one. */
function transcriptOf(agent: string, { home, env }: Site, id: string): string {
  if (agent === "codex") return join(home, ".codex/sessions");
  const file = join(home, "session.json");
  writeFileSync(file, execFileSync(OPENCODE, ["export", id], { env, stdio: ["ignore", "pipe", "ignore"] }));
  return file;
}

/** What fits beside the agent's own first prompt: a handover in the middle of each phase. */
const AGENTS = [
  { agent: "copilot", program: COPILOT_SDK, title: "Copilot", window: "24000" },
  { agent: "gemini", program: GEMINI, title: "Gemini CLI", window: "26000" },
  { agent: "codex", program: CODEX, title: "Codex", window: "24000" },
  { agent: "opencode", program: OPENCODE, title: "opencode", window: "24000" },
] as const;

for (const { agent, program, title, window } of AGENTS)
  describe.skipIf(!existsSync(program))(title, () => {
    test("two phases, handed over in the middle: every task once, gates, commits, marks; nothing is left running", async () => {
      const repo = scratchRepo(PLAN);
      const place = await site({ repo, agent, charsPerTask: 9_000 });
      const ended = await place.segno(["run", "PLAN.md", "--json", "--context-limit", window]).ended;
      expect(ended.code, `${ended.stdout.slice(-3_000)}\n${ended.stderr}`).toBe(0);
      const events = eventsOf(ended);
      const of = (type: string) => events.filter((event) => event.type === type);
      expect(place.done).toEqual(TASKS);
      expect(of("checkpoint-saved").length).toBeGreaterThanOrEqual(2);
      expect(of("compacted")).toEqual([]);
      expect(of("gate-finished").every((event) => "passed" in event && event.passed)).toBe(true);
      expect(git(repo, "show", "HEAD:PLAN.md").match(/Completed/g)).toHaveLength(2);
      expect(git(repo, "log", "-1", "--format=%(trailers:key=Co-Authored-By)")).toContain(`${title} (`);
      expect(git(repo, "status", "--porcelain")).toBe("");
      const first = events[0];
      const run = first?.type === "run-started" ? first.run : "";
      expect(await findProcesses((marker) => marker.startsWith(`${run}:`))).toEqual([]);
    });

    // Others' are not read yet.
    test.skipIf(agent !== "codex" && agent !== "opencode")(
      "its transcripts tell segno meter the calls that the model answered",
      async () => {
        const repo = scratchRepo(planFiles([{ id: "1", tasks: 3, gates: ["test -f out/1-3.txt"] }]));
        const place = await site({ repo, agent, charsPerTask: 2_000 });
        const ended = await place.segno(["run", "PLAN.md", "--json"]).ended;
        expect(ended.code, `${ended.stdout.slice(-3_000)}\n${ended.stderr}`).toBe(0);
        const ready = eventsOf(ended).find((event) => event.type === "session-ready");
        const id = ready?.type === "session-ready" ? ready.agentSession : "";
        const metered = await place.segno(["meter", transcriptOf(agent, place, id), "--json"]).ended;
        const answered = place.exchanges.filter(({ request }) => (request.tools ?? []).length > 0);
        const { sessions } = JSON.parse(metered.stdout);
        expect(sessions).toHaveLength(1);
        expect(sessions[0].calls).toBe(answered.length);
        const sum = (pick: (usage: (typeof answered)[number]["usage"]) => number) =>
          answered.reduce((total, { usage }) => total + pick(usage), 0);
        expect(sessions[0].tokens.output).toBe(sum((usage) => usage.output_tokens));
        expect(sessions[0].tokens.cache_read).toBe(sum((usage) => usage.cache_read_input_tokens));
      },
    );

    test("a rehearsal with it", async () => {
      const repo = scratchRepo(PLAN);
      const place = await site({ repo, agent });
      const ended = await place.segno(["rehearse", "PLAN.md", "--agent", agent, "--plain"]).ended;
      expect(ended.code, ended.stdout + ended.stderr).toBe(0);
      expect(ended.stdout).toContain("6 tasks done by the stand-in model, 0 of them more than once");
    });

    test("killed at 20 moments and taken up again, it ends like an undisturbed run, and nothing is left running", async () => {
      // Copilot overwrites no file: a half-done one is taken away first, which needs some room.
      const room = agent === "copilot" ? "32000" : window;
      const args = ["run", "PLAN.md", "--json", "--context-limit", room];
      const undisturbed = await site({ repo: scratchRepo(PLAN), agent, charsPerTask: 9_000 });
      const whole = await undisturbed.segno(args).ended;
      expect(whole.code, `${whole.stdout.slice(-3_000)}\n${whole.stderr}`).toBe(0);
      const events = eventsOf(whole).length;
      const truth = git(undisturbed.repo, "ls-tree", "-r", "HEAD");
      const moments = Array.from({ length: MOMENTS }, (_, n) => Math.ceil(((n + 1) * events) / (MOMENTS + 1)));
      const EARLIER = 5;
      const failures: string[] = [];
      const take = async (): Promise<void> => {
        for (let k = moments.shift(); k !== undefined; k = moments.shift()) {
          const place = await site({ repo: scratchRepo(PLAN), agent, charsPerTask: 9_000 });
          const killed = await place.segno(args, { killAt: k }).ended;
          if (killed.signal === null && killed.code === 0 && k > EARLIER) {
            // Not every run has as many events: this one was over before.
            moments.push(k - EARLIER);
            continue;
          }
          const again = await place.segno(["resume", "--json", "--context-limit", room]).ended;
          const first = eventsOf(killed)[0];
          const run = first?.type === "run-started" ? first.run : "";
          const left = await findProcesses((marker) => marker.startsWith(`${run}:`));
          const tree = git(place.repo, "ls-tree", "-r", "HEAD");
          // The one in flight, and one whose report was in the message that began it.
          const once = [...new Set(place.done)].length === TASKS.length && place.done.length <= TASKS.length + 2;
          if (killed.signal !== "SIGKILL" || again.code !== 0 || tree !== truth || !once || left.length > 0)
            failures.push(
              `after event ${k}: ${killed.signal}, then ${again.code}; ${left.length} processes left; done ${place.done.join(" ")}; ${tree === truth ? "" : "another tree"}\n${again.stdout.slice(-1_500)}${again.stderr}`,
            );
        }
      };
      await Promise.all([take(), take(), take()]);
      expect(failures).toEqual([]);
    }, 1_800_000);
  });
