/**
 * A run that goes from one agent to the next, ended after event k and resumed, ends like an undisturbed one. Sampled here;
 * `npm run test:crash` takes every k. With the real programs: `test/other-agents/relay.test.ts`.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findProcesses } from "../../src/agents/processes.js";
import type { Reply } from "../../src/rehearsal/reply.js";
import { planFiles } from "../support/plans.js";
import { git, scratchRepo } from "../support/scratch.js";
import { eventsOf, type Site, type SiteOptions, site } from "../support/segno.js";

const complete = process.env.CRASH_MATRIX === "complete";
const CELLS_AT_ONCE = Number(process.env.CRASH_CELLS ?? 3);
const PLAN = planFiles([{ id: "1", tasks: 6, gates: ["test -f out/1-6.txt"] }]);
const TASKS = Array.from({ length: 6 }, (_, n) => `1/1.${n + 1}`);
const WHO = { FIRST: "first", SECOND: "second", THIRD: "third" };
const ACCOUNTS = `accounts:
  first: { agent: scripted, env: { WHO: FIRST } }
  second: { agent: scripted, env: { WHO: SECOND } }
  third: { agent: scripted, env: { WHO: THIRD } }
fallback: [second, third]
`;

const limit = (): Reply => ({
  type: "error",
  status: 429,
  error: "rate_limit_error",
  message: "limit reached",
  headers: {
    "anthropic-ratelimit-unified-status": "rejected",
    "anthropic-ratelimit-unified-reset": String(Math.ceil(Date.now() / 1_000) + 3_600),
    "x-should-retry": "false",
  },
});

/** The first two get two answers each, then their limit. */
async function newSite(): Promise<Site> {
  const calls = new Map<string, number>();
  const behave: SiteOptions["behave"] = (request, worker) => {
    const n = (calls.get(request.model) ?? 0) + 1;
    calls.set(request.model, n);
    return n > 2 && request.model !== WHO.THIRD ? limit() : worker(request);
  };
  const place = await site({ repo: scratchRepo(PLAN), behave });
  mkdirSync(join(place.home, ".config/segno"), { recursive: true });
  writeFileSync(join(place.home, ".config/segno/config.yaml"), ACCOUNTS);
  Object.assign(place.env, WHO, { SEGNO_AGENT: "first", SEGNO_MODEL: "" });
  return place;
}

test(
  "limited twice, done by three: killed after event k, resumed, it ends like the undisturbed run",
  async () => {
    const undisturbed = await newSite();
    const whole = await undisturbed.segno(["run", "PLAN.md", "--json"]).ended;
    expect(whole.code, `${whole.stdout.slice(-3_000)}\n${whole.stderr}`).toBe(0);
    const events = eventsOf(whole);
    const who = events.flatMap((event) => (event.type === "session-started" ? [event.agent] : []));
    expect(who).toEqual(["first", "second", "third"]);
    const truth = git(undisturbed.repo, "ls-tree", "-r", "HEAD");
    const first = events.findIndex(({ type }) => type === "limit-reached") + 1;
    const waiting = complete ? events.map((_, at) => at + 1) : [first, first + 4];
    const cells = waiting.length;
    const failures: string[] = [];
    const take = async (): Promise<void> => {
      for (let k = waiting.shift(); k !== undefined; k = waiting.shift()) {
        const place = await newSite();
        const killed = await place.segno(["run", "PLAN.md", "--json"], { killAt: k }).ended;
        const again = await place.segno(["resume", "--json"]).ended;
        const [begun] = eventsOf(killed);
        const run = begun?.type === "run-started" ? begun.run : "";
        const left = await findProcesses((marker) => marker.startsWith(`${run}:`));
        const isSame = git(place.repo, "ls-tree", "-r", "HEAD") === truth;
        const all = [...new Set(place.done)].toSorted().join() === TASKS.join();
        // One in flight at each limit, and one at the kill.
        const isOnce = place.done.length <= TASKS.length + 3;
        // After its last word there is nothing to resume.
        const isOver = events.slice(0, k).some(({ type }) => type === "run-completed");
        if (
          killed.signal !== "SIGKILL" ||
          again.code !== (isOver ? 2 : 0) ||
          !isSame ||
          !all ||
          !isOnce ||
          left.length > 0
        )
          failures.push(
            `after event ${k} (${events[k - 1]?.type}): ${killed.signal}, then ${again.code}; ${left.length} left; done ${place.done.join(" ")}; ${isSame ? "" : "another tree"}\n${again.stdout.slice(-1_500)}${again.stderr}`,
          );
      }
    };
    await Promise.all(Array.from({ length: CELLS_AT_ONCE }, take));
    expect(failures).toEqual([]);
    if (complete) process.stderr.write(`relayed run: ${cells} of ${cells} cells passed\n`);
  },
  complete ? 0 : 420_000,
);
