/** A world that answers commands by chance: for properties of `decide` and `evolve` without agent, git or disk. */
import fc from "fast-check";
import type { Plan } from "../../src/plan/model.js";
import type { Command } from "../../src/run/command.js";
import { decide } from "../../src/run/decide.js";
import { EVENT_VERSION, type Fact, type RunEvent, type TurnEnd } from "../../src/run/event.js";
import { evolve } from "../../src/run/evolve.js";
import type { PhaseResult } from "../../src/run/outcome.js";
import { openQuestions } from "../../src/run/questions.js";
import type { RunState } from "../../src/run/state.js";
import { wakeAt } from "../../src/run/waits.js";
import { runStarted } from "./run-started.js";

/** A plan without cycles: each phase depends on some of those before it. */
export const anyPlan: fc.Arbitrary<Plan> = fc
  .array(
    fc.record({
      dependsOn: fc.array(fc.nat(20), { maxLength: 3 }),
      tasks: fc.integer({ min: 0, max: 4 }),
      gates: fc.integer({ min: 0, max: 2 }),
    }),
    { minLength: 1, maxLength: 6 },
  )
  .map((drafts) => ({
    format: "master" as const,
    title: "any",
    goal: "",
    file: "PLAN.md",
    files: ["PLAN.md"],
    phases: drafts.map(({ dependsOn, tasks, gates }, index) => ({
      id: String(index + 1),
      title: `phase ${index + 1}`,
      dependsOn: index === 0 ? [] : [...new Set(dependsOn.map((n) => String((n % index) + 1)))],
      tasks: Array.from({ length: tasks }, (_, n) => ({
        id: `${index + 1}.${n + 1}`,
        title: "t",
        ticked: false,
        file: "PLAN.md",
        line: 1,
      })),
      gates: Array.from({ length: gates }, (_, n) => ({
        id: `g${n + 1}`,
        name: `g${n + 1}`,
        check: { type: "command" as const, command: "true" },
        file: "PLAN.md",
        line: 1,
      })),
      text: "",
      mark: undefined,
      complexity: undefined,
      files: index % 3 === 2 ? ["shared"] : [],
      criteria: [],
      readFirst: [],
      file: "PLAN.md",
      line: 1,
    })),
  }));

export const anyLimits = fc.record({
  max_restarts: fc.integer({ min: 0, max: 3 }),
  max_sessions_per_phase: fc.integer({ min: 1, max: 6 }),
  max_remediations: fc.integer({ min: 0, max: 2 }),
  parallel: fc.integer({ min: 1, max: 4 }),
  split: fc.constantFrom("auto" as const, "ask" as const, "off" as const),
  fallback: fc.constantFrom<string[] | undefined>(undefined, ["second"]),
  relay_after_minutes: fc.constantFrom(0, 30),
});

/** Choices the world makes; when they are used up it answers well, so that every run ends. */
export const anyChoices: fc.Arbitrary<number[]> = fc.oneof(
  { weight: 1, arbitrary: fc.array(fc.nat(1_000), { maxLength: 120 }) },
  // Small numbers are what the library likes, and they are the good answers: evenly spread ones reach the rest.
  { weight: 4, arbitrary: fc.tuple(fc.integer(), fc.nat(300)).map(([seed, length]) => spread(seed, length)) },
);

function spread(seed: number, length: number): number[] {
  let state = seed >>> 0;
  return Array.from({ length }, () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x6d2b79f5) >>> 0;
    return ((state ^ (state >>> 12)) >>> 4) % 1_000;
  });
}

export interface Simulated {
  events: RunEvent[];
  state: RunState;
}

export function simulate(
  plan: Plan,
  {
    parallel,
    ...limits
  }: {
    parallel: number;
    max_restarts: number;
    max_sessions_per_phase: number;
    max_remediations: number;
    split?: "auto" | "ask" | "off";
    fallback?: string[] | undefined;
    relay_after_minutes?: number;
  },
  choices: readonly number[],
  check: (state: RunState, event: RunEvent) => void = () => {},
): Simulated {
  const events: RunEvent[] = [];
  let state: RunState | undefined;
  let at = 0;
  const choose = (n: number): number => (at < choices.length ? (choices[at++] as number) % n : 0);
  const append = (fact: Fact): void => {
    const event = {
      v: EVENT_VERSION,
      seq: events.length + 1,
      at: "2026-01-01T00:00:00.000Z",
      epoch: 1,
      ...fact,
    } as RunEvent;
    events.push(event);
    state = evolve(state, event);
    check(state, event);
  };
  append(runStarted(plan, limits, { mode: "rehearsal", parallel, attended: choices.length % 2 === 1 }));
  const open: Command[] = [];
  const branches = new Branches();
  for (let steps = 0; (state as unknown as RunState).status === "running"; steps++) {
    if (steps > 5_000) throw new Error("the run does not end");
    const decisions = decide(state as unknown as RunState);
    const moment = decisions.length + open.length === 0 ? wakeAt(state as unknown as RunState) : undefined;
    if (moment !== undefined) append({ type: "time-reached", moment });
    for (const decision of decisions) {
      if (decision.type === "conclude") append(decision.fact);
      else {
        append({ type: "command-issued", phase: decision.command.phase, command: decision.command });
        open.push(decision.command);
      }
    }
    if (open.length === 0) continue;
    const [command] = open.splice(choose(open.length), 1) as [Command];
    const now = state as unknown as RunState;
    const branch = branches.of(now.parents.get(command.phase));
    for (const fact of answer(command, now.plan, branch, choose)) append(fact);
    for (const fact of meddle(state as unknown as RunState, choose)) append(fact);
  }
  return { events, state: state as unknown as RunState };
}

/** Branches that phases are merged to: what is on each, newest last. */
class Branches {
  readonly #all = new Map<string | undefined, string[]>();
  of(target: string | undefined): string[] {
    const commits = this.#all.get(target) ?? ["before"];
    this.#all.set(target, commits);
    return commits;
  }
}

/** What a candidate was built on is in its name. */
const candidateOn = (base: string, id: string): string => `${id} on ${base}`;

function answer(command: Command, plan: Plan, branch: string[], choose: (n: number) => number): Fact[] {
  const { id, phase, attempt } = command;
  switch (command.type) {
    case "start-phase":
      return [
        {
          type: "phase-started",
          command: id,
          phase,
          attempt,
          head: "h",
          baseline: "b",
          staged: [],
          worktree: command.apart === true ? { branch: `segno/r/${phase}` } : undefined,
        },
      ];
    case "start-session": {
      const { session, purpose } = command;
      const place = { session, phase, attempt };
      const started: Fact[] = [
        { type: "session-started", ...place, purpose, prompt: "sha256:0", promptTokens: 1, resumed: false },
        { type: "turn-started", ...place, turn: "work" },
      ];
      return [...started, ...turn(command, place, plan, choose)];
    }
    case "continue-session": {
      const place = { session: command.session, phase, attempt };
      return [{ type: "turn-started", ...place, turn: command.turn }, ...turn(command, place, plan, choose)];
    }
    case "end-session":
      return [
        {
          type: "session-ended",
          command: id,
          session: command.session,
          phase,
          attempt,
          reason: command.reason,
          swept: 0,
        },
      ];
    case "run-gate": {
      const passed = choose(5) !== 4;
      return [
        {
          type: "gate-finished",
          command: id,
          phase,
          attempt,
          gate: command.gate,
          name: command.gate,
          round: command.round,
          passed,
          exit: passed ? 0 : 1,
          ms: 1,
          why: "",
          output: "sha256:0",
        },
      ];
    }
    case "commit": {
      const { kind } = command;
      const what = choose(30);
      if (what === 29)
        return [{ type: "commit-failed", command: id, phase, attempt, kind, category: "agent_error", why: "x" }];
      if (what > 20) return [{ type: "commit-skipped", command: id, phase, attempt, kind, why: "nothing changed" }];
      return [{ type: "commit-made", command: id, phase, attempt, kind, sha: id, files: 1, leftOut: [] }];
    }
    case "inspect-phase": {
      const what = choose(6);
      const tasks = plan.phases.find((candidate) => candidate.id === phase)?.tasks.map((task) => task.id) ?? [];
      return [
        {
          type: "phase-inspected",
          command: id,
          phase,
          attempt,
          suspicions: what === 5 ? [{ kind: "no-change", text: "x" }] : [],
          unreported: what === 4 ? tasks.slice(0, 1) : [],
          undocumented: false,
        },
      ];
    }
    case "merge-phase": {
      const what = choose(6);
      if (what === 5) return [{ type: "merge-failed", command: id, phase, attempt, why: "x" }];
      const { lands, onto } = command;
      const tip = branch.at(-1) ?? "";
      const arrive = (sha: string): Fact[] => {
        branch.push(sha);
        return [{ type: "phase-merged", command: id, phase, attempt, sha, into: "main", files: [], leftBehind: [] }];
      };
      if (lands?.endsWith(` on ${tip}`)) return arrive(lands);
      if (what <= 2 && onto === undefined) return arrive(candidateOn(tip, id));
      const conflicts = what === 4 ? ["a"] : [];
      // As git would: what it is coupled to must still go where the branch is.
      const behind = onto?.commit.includes(` on ${tip}`) ? onto : undefined;
      const base = behind?.commit ?? tip;
      const candidate = conflicts.length > 0 ? undefined : candidateOn(base, id);
      const begun = { base, tip: "t", behind: behind?.phase, candidate, conflicts, sharing: [] };
      return [{ type: "merge-begun", command: id, phase, attempt, ...begun }];
    }
    default:
      return command satisfies never;
  }
}

const ENDS: TurnEnd[] = [
  { type: "finished" },
  { type: "stopped", why: "context" },
  { type: "too-long" },
  { type: "failed", kind: "api", message: "x" },
  { type: "failed", kind: "request", message: "x" },
  { type: "timed-out", what: "idle", message: "x" },
  { type: "crashed", message: "x" },
  { type: "stopped", why: "window-too-small" },
  { type: "failed", kind: "auth", message: "x" },
  { type: "called-off", message: "x" },
];

function turn(
  command: Command,
  place: { session: string; phase: string; attempt: number },
  plan: Plan,
  choose: (n: number) => number,
): Fact[] {
  const facts: Fact[] = [];
  const tasks = plan.phases.find((phase) => phase.id === place.phase)?.tasks ?? [];
  const task = tasks[choose(5)];
  if (task !== undefined) facts.push({ type: "progress-reported", ...place, message: "m", task: task.id });
  const what = Math.max(0, choose(24) - 14);
  if (what === 0) facts.push({ type: "result-reported", ...place, result: result(choose(10), tasks) });
  facts.push({
    type: "turn-ended",
    command: command.id,
    ...place,
    end: what === 0 ? { type: "finished" } : (ENDS[what] as TurnEnd),
  });
  return facts;
}

/** What people, limits and the clock do in between. */
function meddle(state: RunState, choose: (n: number) => number): Fact[] {
  switch (choose(60)) {
    case 59:
      return [{ type: "stop-requested", by: "test", cause: "asked" }];
    case 58:
      return [
        {
          type: "limit-reached",
          agent: ["claude", "second"][choose(2)],
          until: new Date(Date.parse(state.now) + 60_000).toISOString(),
          message: "x",
        },
      ];
    case 57:
      return [
        { type: "run-held", hold: "paused", by: "test" },
        { type: "run-released", hold: "paused", by: "test" },
      ];
    case 56: {
      const phase = state.plan.phases[choose(state.plan.phases.length)]?.id ?? "";
      return [{ type: "skip-requested", phase, by: "test" }];
    }
    case 55:
    case 54: {
      const [question] = openQuestions(state);
      if (question === undefined) return [];
      const { id, phase, choices } = question;
      const choice = choices[choose(choices.length)]?.name ?? "";
      return [{ type: "question-answered", question: id, phase, choice, by: "test" }];
    }
    default:
      return [];
  }
}

/** A split that the tool would accept. */
function splitDetails(tasks: Plan["phases"][number]["tasks"]): PhaseResult["split_details"] {
  const half = Math.ceil(tasks.length / 2);
  const part = (title: string, some: typeof tasks) => ({ title, tasks: some.map((task) => task.id) });
  return { reason: "large", recommended_sub_phases: [part("a", tasks.slice(0, half)), part("b", tasks.slice(half))] };
}

const result = (n: number, tasks: Plan["phases"][number]["tasks"]): PhaseResult => ({
  status:
    n === 7
      ? "failed"
      : n === 6 && tasks.length > 1
        ? "split_request"
        : n === 5
          ? "needs_human_verification"
          : "completed",
  split_details: n === 6 && tasks.length > 1 ? splitDetails(tasks) : undefined,
  summary: "s",
  tasks_completed: [],
  tasks_remaining: [],
  files_modified: [],
  decisions: [],
});
