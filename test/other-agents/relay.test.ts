/** The relay with the real programs: a plan begun by one, limited in mid-phase, continued and finished by others. */
import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { findProcesses } from "../../src/agents/processes.js";
import type { Reply } from "../../src/rehearsal/reply.js";
import type { ModelRequest } from "../../src/rehearsal/request.js";
import type { Behaviour } from "../../src/rehearsal/server.js";
import { planFiles } from "../support/plans.js";
import { git, scratchRepo } from "../support/scratch.js";
import { CODEX, eventsOf, OPENCODE, type Running, site } from "../support/segno.js";

const PLAN = {
  ...planFiles([{ id: "1", tasks: 6, gates: ["test -f out/1-6.txt"] }]),
  ".segno/config.yaml": "fallback: [codex, opencode]\n",
};
const TASKS = Array.from({ length: 6 }, (_, n) => `1/1.${n + 1}`);
const HOUR = 3_600;
const inSeconds = (seconds: number): number => Math.ceil(Date.now() / 1_000) + seconds;

/** Limits are for accounts, not for keys: a made-up login. */
const account = { CLAUDE_CODE_OAUTH_TOKEN: "sk-ant-oat01-made-up", ANTHROPIC_API_KEY: "" };

/** Which API was spoken: the agents have different first tools. */
const speakerOf = ({ tools = [] }: ModelRequest): "claude" | "codex" | "opencode" =>
  tools.some(({ name }) => name === "mcp__segno__progress" && tools.some((tool) => tool.name === "Edit"))
    ? "claude"
    : tools.some(({ name }) => name.startsWith("segno_"))
      ? "opencode"
      : "codex";

const LIMITS: Record<string, (reset?: number) => Reply> = {
  claude: (reset = inSeconds(HOUR)) => ({
    type: "error",
    status: 429,
    error: "rate_limit_error",
    message: "limit reached",
    headers: {
      "anthropic-ratelimit-unified-status": "rejected",
      "anthropic-ratelimit-unified-reset": String(reset),
      "anthropic-ratelimit-unified-representative-claim": "five_hour",
      "x-should-retry": "false",
    },
  }),
  codex: (reset = inSeconds(HOUR)) => ({
    type: "error",
    status: 429,
    error: "usage_limit_reached",
    message: "The usage limit has been reached",
    headers: {
      "x-codex-primary-used-percent": "100",
      "x-codex-primary-window-minutes": "300",
      "x-codex-primary-reset-at": String(reset),
    },
  }),
};

/** Claude Code and Codex each get two answers, then their limit. */
function limited(): (request: ModelRequest, worker: Behaviour) => ReturnType<Behaviour> {
  const calls = new Map<string, number>();
  return (request, worker) => {
    if ((request.tools ?? []).length === 0) return worker(request);
    const speaker = speakerOf(request);
    const n = (calls.get(speaker) ?? 0) + 1;
    calls.set(speaker, n);
    const limit = n > 2 ? LIMITS[speaker] : undefined;
    return limit === undefined ? worker(request) : limit();
  };
}

/** From their second answer on each has its limit, until its moment has come. */
function limitedUntil(
  resets: Record<string, number>,
): (request: ModelRequest, worker: Behaviour) => ReturnType<Behaviour> {
  const calls = new Map<string, number>();
  return (request, worker) => {
    if ((request.tools ?? []).length === 0) return worker(request);
    const speaker = speakerOf(request);
    const n = (calls.get(speaker) ?? 0) + 1;
    calls.set(speaker, n);
    const reset = resets[speaker];
    const isLimited = n > 1 && reset !== undefined && Date.now() < reset * 1_000;
    return isLimited ? (LIMITS[speaker]?.(reset) ?? worker(request)) : worker(request);
  };
}

const newSite = () =>
  site({ repo: scratchRepo(PLAN), agent: "claude", others: ["codex", "opencode"], behave: limited() });

const started = (ended: Awaited<Running["ended"]>): (string | undefined)[] =>
  eventsOf(ended).flatMap((event) => (event.type === "session-started" ? [event.agent] : []));

describe.skipIf(!existsSync(CODEX) || !existsSync(OPENCODE))("the relay", () => {
  test("begun by Claude Code, continued by Codex, finished by opencode: no task lost, none redone but those in flight", async () => {
    const place = await newSite();
    const ended = await place.segno(["run", "PLAN.md", "--json"], { env: account }).ended;
    expect(ended.code, `${ended.stdout.slice(-3_000)}\n${ended.stderr}`).toBe(0);
    expect([...new Set(started(ended))]).toEqual(["claude", "codex", "opencode"]);
    expect([...new Set(place.done)].toSorted()).toEqual(TASKS);
    expect(place.done.length).toBeLessThanOrEqual(TASKS.length + 2);
    const credits = git(place.repo, "log", "-1", "--format=%(trailers:key=Co-Authored-By,valueonly)");
    for (const name of ["Claude (", "Codex (", "opencode ("]) expect(credits).toContain(name);
    expect(git(place.repo, "status", "--porcelain")).toBe("");
    const report = await place.segno(["report"]).ended;
    expect(report.stdout).toContain("claude, then codex, then opencode");
  });

  test("the first takes over with the next phase, when its limit is lifted", async () => {
    const reset = inSeconds(60);
    const plan = planFiles([
      // Done only when the limit is over; before its work it fails at once.
      { id: "1", tasks: 2, gates: [`test -f out/1-2.txt && while [ "$(date +%s)" -le ${reset} ]; do sleep 0.2; done`] },
      { id: "2", tasks: 2, dependsOn: ["1"], gates: ["test -f out/2-2.txt"] },
    ]);
    const repo = scratchRepo({ ...plan, ".segno/config.yaml": "fallback: [codex]\nrelay_after_minutes: 0\n" });
    const place = await site({ repo, agent: "claude", others: ["codex"], behave: limitedUntil({ claude: reset }) });
    const ended = await place.segno(["run", "PLAN.md", "--json"], { env: account }).ended;
    expect(ended.code, `${ended.stdout.slice(-3_000)}\n${ended.stderr}`).toBe(0);
    const who = eventsOf(ended).flatMap((event) =>
      event.type === "session-started" ? [`${event.phase} ${event.agent}`] : [],
    );
    expect(who).toEqual(["1 claude", "1 codex", "2 claude"]);
    expect([...new Set(place.done)].toSorted()).toEqual(["1/1.1", "1/1.2", "2/2.1", "2/2.2"]);
  });

  test("all of them limited: the run waits for whoever is back first", async () => {
    const [soon, late] = [inSeconds(40), inSeconds(HOUR)];
    const repo = scratchRepo({ ...PLAN, ".segno/config.yaml": "fallback: [codex]\nrelay_after_minutes: 0\n" });
    const behave = limitedUntil({ claude: soon, codex: late });
    const place = await site({ repo, agent: "claude", others: ["codex"], behave });
    const ended = await place.segno(["run", "PLAN.md", "--json"], { env: account }).ended;
    expect(ended.code, `${ended.stdout.slice(-3_000)}\n${ended.stderr}`).toBe(0);
    const who = started(ended);
    expect(who.slice(0, 2)).toEqual(["claude", "codex"]);
    expect(who.at(-1)).toBe("claude");
    const lifted = eventsOf(ended).find((event) => event.type === "limit-lifted");
    expect(lifted).toMatchObject({ agent: "claude" });
    expect(Date.parse(lifted?.at ?? "")).toBeGreaterThanOrEqual(soon * 1_000);
    expect([...new Set(place.done)].toSorted()).toEqual(TASKS);
  });

  test("killed in the middle of it, it ends like an undisturbed run", async () => {
    const undisturbed = await newSite();
    const whole = await undisturbed.segno(["run", "PLAN.md", "--json"], { env: account }).ended;
    expect(whole.code, whole.stdout.slice(-3_000) + whole.stderr).toBe(0);
    const types = eventsOf(whole).map(({ type }) => type);
    const truth = git(undisturbed.repo, "ls-tree", "-r", "HEAD");
    const first = types.indexOf("limit-reached") + 1;
    for (const k of process.env.THOROUGH === undefined ? [first, first + 3] : types.map((_, n) => n + 1)) {
      const place = await newSite();
      const killed = await place.segno(["run", "PLAN.md", "--json"], { env: account, killAt: k }).ended;
      expect(killed.signal).toBe("SIGKILL");
      const again = await place.segno(["resume", "--json"], { env: account }).ended;
      expect(again.code, `after ${k}: ${again.stdout.slice(-3_000)}${again.stderr}`).toBe(0);
      expect(git(place.repo, "ls-tree", "-r", "HEAD"), `after ${k}`).toBe(truth);
      expect([...new Set(place.done)].toSorted()).toEqual(TASKS);
      expect(place.done.length, `after ${k}`).toBeLessThanOrEqual(TASKS.length + 3);
      const run = eventsOf(killed)[0];
      const id = run?.type === "run-started" ? run.run : "";
      expect(await findProcesses((marker) => marker.startsWith(`${id}:`))).toEqual([]);
    }
  }, 3_600_000);
});
