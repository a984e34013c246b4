/** Many machines, as the state knows them: who holds what, what a phase needs, and whose account is at its limit. */
import { describe, expect, test } from "vitest";
import type { Config } from "../../src/config/schema.js";
import { reconcile } from "../../src/engine/resume.js";
import { parsePlan } from "../../src/plan/parse.js";
import type { Command } from "../../src/run/command.js";
import { EVENT_VERSION, type Fact, type RunEvent } from "../../src/run/event.js";
import { evolve } from "../../src/run/evolve.js";
import type { RunState } from "../../src/run/state.js";
import { canDo, isLimited, needsOf, phasesNobodyCanTake, type TeamWorker } from "../../src/run/team.js";
import { standingOf } from "../../src/view/status.js";
import { onePhase, runStarted } from "../support/run-started.js";

const worker = (name: string, more: Partial<TeamWorker> = {}): TeamWorker => ({
  worker: name,
  slots: 1,
  agents: { claude: "default" },
  labels: [],
  ...more,
});

function folded(facts: Fact[], config: Partial<Config> = {}, plan = onePhase()): RunState {
  const all = [runStarted(plan, config), ...facts];
  let state: RunState | undefined;
  for (const [n, fact] of all.entries()) {
    const at = `2026-01-01T00:00:0${n}.000Z`;
    state = evolve(state, { v: EVENT_VERSION, seq: n + 1, at, epoch: 1, ...fact } as RunEvent);
  }
  return state as RunState;
}

const TAKEN = { type: "phase-taken", phase: "1", worker: "a", lease: 1 } as const;
const START = {
  type: "command-issued",
  phase: "1",
  command: { type: "start-phase", id: "1/a1", phase: "1", attempt: 1 },
} as const;
const LIMIT = { type: "limit-reached", agent: "claude", until: "2027-01-01T00:00:00.000Z", message: "enough" } as const;

describe("who holds what", () => {
  test("on one machine nobody is asked", () => {
    expect(folded([]).team).toBeUndefined();
    expect(standingOf(folded([])).team).toBeUndefined();
  });

  test("taken, leaving, let go; an old holder's word changes nothing", () => {
    const leaving = { type: "phase-leaving", phase: "1", worker: "a", why: "" } as const;
    expect(folded([TAKEN, leaving]).team?.holdings.get("1")).toEqual({ worker: "a", leaving: true });
    const b = { ...TAKEN, worker: "b", lease: 2, from: "a" };
    const late = { type: "phase-let-go", phase: "1", worker: "a", why: "" } as const;
    expect(folded([TAKEN, b, leaving, late]).team?.holdings.get("1")).toEqual({ worker: "b", leaving: false });
    expect(folded([TAKEN, late]).team?.holdings.size).toBe(0);
  });

  test("a phase that is offered, and that nobody has yet, is not running", () => {
    const offered = folded([{ type: "run-taken", worker: "b", lease: 1 }, START]);
    expect(standingOf(offered).phases[0]).toMatchObject({ status: "pending", doing: "waiting" });
    const taken = folded([{ type: "run-taken", worker: "b", lease: 1 }, START, TAKEN]);
    expect(standingOf(taken).phases[0]).toMatchObject({ status: "running", doing: "starting" });
    expect(standingOf(folded([START])).phases[0]).toMatchObject({ status: "running" });
  });

  test("the screens say who works where", () => {
    const seen = { type: "workers-seen", workers: [worker("a"), worker("b")], lost: [] } as const;
    const { team, phases } = standingOf(
      folded([{ type: "run-taken", worker: "b", lease: 1 }, { ...seen, workers: [...seen.workers], lost: [] }, TAKEN]),
    );
    expect(phases[0]?.worker).toBe("a");
    expect(team?.conductor).toBe("b");
    expect(team?.workers.map((each) => [each.worker, each.phases])).toEqual([
      ["a", ["1"]],
      ["b", []],
    ]);
  });
});

describe("what a phase needs", () => {
  test("**Needs:** words of the plan, and the agents of everybody who may have to work on it", () => {
    const text = (needs: string) =>
      `# P\n\n### Phase 1: One\n\n**Needs:** ${needs}\n\n- [ ] Do it\n\n### Phase 2: Two\n\n- [ ] Do that\n`;
    const parsed = (needs: string) => parsePlan("PLAN.md", () => text(needs), {});
    const some = parsed("`GPU`, big-memory");
    if (!some.ok) throw new Error("no plan");
    const state = folded([], { agents: { verify: "codex", rules: [] } } as Partial<Config>, some.plan);
    expect(needsOf(state, "1")).toEqual({ agents: ["claude", "codex"], labels: ["big-memory", "gpu"] });
    expect(needsOf(state, "2").labels).toEqual([]);
    const sentence = parsed("a look at the design first");
    expect(sentence.ok && sentence.plan.phases[0]?.needs).toBeUndefined();
  });

  test("only who has all of it can; where nobody has, that is known", () => {
    const plan = onePhase();
    Object.assign(plan.phases[0] ?? {}, { needs: ["gpu"] });
    const seen = (...workers: TeamWorker[]): Fact => ({ type: "workers-seen", workers, lost: [] });
    const needs = { agents: ["claude"], labels: ["gpu"] };
    expect(canDo(worker("a"), needs)).toBe(false);
    expect(canDo(worker("a", { labels: ["gpu"] }), needs)).toBe(true);
    expect(canDo(worker("a", { labels: ["gpu"], agents: {} }), needs)).toBe(false);
    expect(phasesNobodyCanTake(folded([seen(worker("a")), START], {}, plan))).toEqual([{ phase: "1", needs }]);
    expect(phasesNobodyCanTake(folded([seen(worker("a", { labels: ["gpu"] })), START], {}, plan))).toEqual([]);
    // Whoever has it can.
    expect(phasesNobodyCanTake(folded([seen(worker("a")), START, TAKEN], {}, plan))).toEqual([]);
  });
});

describe("a usage limit is an account's", () => {
  const two: Fact = {
    type: "workers-seen",
    workers: [worker("a", { agents: { claude: "one" } }), worker("b", { agents: { claude: "two" } })],
    lost: [],
  };

  test("an agent is away only where every account that is there is at its limit", () => {
    const once = folded([two, { ...LIMIT, account: "one" }]);
    expect(once.away.size).toBe(0);
    expect([isLimited(once, "claude", "one"), isLimited(once, "claude", "two")]).toEqual([true, false]);
    expect([...folded([two, { ...LIMIT, account: "one" }, { ...LIMIT, account: "two" }]).away.keys()]).toEqual([
      "claude",
    ]);
  });

  test("somebody who comes with another account brings it back", () => {
    const alone: Fact = { type: "workers-seen", workers: [worker("a", { agents: { claude: "one" } })], lost: [] };
    expect(folded([alone, { ...LIMIT, account: "one" }]).away.size).toBe(1);
    expect(folded([alone, { ...LIMIT, account: "one" }, two]).away.size).toBe(0);
  });

  test("it is over when the first account is free; whoever leaves takes a free one along", () => {
    const later = { ...LIMIT, account: "two", until: "2027-06-01T00:00:00.000Z" };
    expect(folded([two, { ...LIMIT, account: "one" }, later]).away.get("claude")?.until).toBe(LIMIT.until);
    const alone: Fact = { type: "workers-seen", workers: [worker("a", { agents: { claude: "one" } })], lost: ["b"] };
    expect(folded([two, { ...LIMIT, account: "one" }, alone]).away.get("claude")?.until).toBe(LIMIT.until);
    const leaves = worker("b", { agents: { claude: "two" }, slots: 0 });
    const leaving: Fact = { ...alone, workers: [worker("a", { agents: { claude: "one" } }), leaves] };
    expect(folded([two, { ...LIMIT, account: "one" }, leaving]).away.size).toBe(1);
  });

  test("what else keeps an agent away, no account brings back", () => {
    const away = { type: "agent-away", agent: "claude", phase: "1", why: "refused", message: "no login" } as Fact;
    expect(folded([two, { ...LIMIT, account: "one" }, away, two]).away.get("claude")?.message).toBe("no login");
  });

  test("where all who should are away, what needs no agent needs none; who stands in is asked for", () => {
    const limits: Fact[] = [two, { ...LIMIT, account: "one" }, { ...LIMIT, account: "two" }, START];
    expect(needsOf(folded(limits), "1").agents).toEqual([]);
    expect(needsOf(folded(limits, { fallback: ["codex"] }), "1").agents).toEqual(["codex"]);
  });

  test("hours in which nobody conducted it do not count as worked", () => {
    const state = folded([two]);
    const taken = { v: EVENT_VERSION, seq: 9, epoch: 2, type: "run-taken", worker: "a", lease: 2 } as const;
    expect(evolve(state, { ...taken, at: "2026-01-04T00:00:00.000Z" } as RunEvent).atRest).toBeGreaterThan(250_000_000);
  });

  test("on one machine it is the agent's, as ever", () => {
    expect([...folded([LIMIT]).away.keys()]).toEqual(["claude"]);
  });
});

describe("what a lost holder had begun", () => {
  const place = { phase: "1", attempt: 1, session: "1/a1/session/1" };
  const begun: Fact[] = [
    START,
    {
      type: "phase-started",
      command: "1/a1",
      phase: "1",
      attempt: 1,
      head: "h",
      baseline: "b",
      staged: [],
      worktree: undefined,
    },
    {
      type: "command-issued",
      phase: "1",
      command: { type: "start-session", id: "1/a1/session/1", ...place, purpose: "work" },
    } as Fact,
    { type: "session-started", ...place, purpose: "work", prompt: "sha256:0", promptTokens: 1, resumed: false },
  ];
  const ended: Fact = { type: "session-ended", command: place.session, ...place, reason: "killed", swept: 0 };

  test("a session that is open ends", () => {
    expect(reconcile(folded(begun), "1")).toMatchObject([{ type: "session-ended", session: place.session }]);
  });

  test("what is issued for a session that has ended by then is given up: nobody could ever do it", () => {
    const state = folded([...begun, ended]);
    const goesOn = { type: "continue-session", id: "late", ...place, turn: "go-on" } as Command;
    const late = { ...state, inFlight: new Map([["late", goesOn]]) };
    expect(reconcile(late, "1")).toMatchObject([{ type: "command-abandoned", command: "late" }]);
  });
});
