import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decide } from "../../src/run/decide.js";
import type { RunEvent, TurnEnd } from "../../src/run/event.js";
import { evolve } from "../../src/run/evolve.js";
import { isAttempted, lastAttempt } from "../../src/run/phase.js";
import { openQuestions } from "../../src/run/questions.js";
import { readinessOf } from "../../src/run/readiness.js";
import type { RunState } from "../../src/run/state.js";
import { anyChoices, anyLimits, anyPlan, simulate } from "../support/simulation.js";

const replay = (events: readonly RunEvent[]): RunState | undefined => {
  let state: RunState | undefined;
  for (const event of structuredClone(events)) state = evolve(state, event);
  return state;
};

/** As it would be if it were made anew. */
const readiness = ({ plan, phases }: RunState) => readinessOf(plan, phases);

/** Worlds in which something was wrong once. */
const WORLDS = ["accepted-merge", "skipped-while-asked"].map(
  (name) => JSON.parse(readFileSync(new URL(`../fixtures/worlds/${name}.json`, import.meta.url), "utf8")) as World,
);
type World = [Parameters<typeof simulate>[0], Parameters<typeof simulate>[1], number[]];

describe("any run, whatever the world answers", () => {
  test("ends, and starts no phase before its dependencies are done, none twice at once, none beyond its limits", () => {
    fc.assert(
      fc.property(anyPlan, anyLimits, anyChoices, (plan, limits, choices) => {
        const { events, state } = simulate(plan, limits, choices, (now, event) => {
          const open = [...now.inFlight.values()];
          expect(new Set(open.map((command) => command.phase)).size).toBe(open.length);
          const underWay = [...now.phases].filter(
            // One that is committed and waits for a person takes nobody's place; sub-phases stand in their phase's.
            ([id, phase]) =>
              !["waiting", "done", "failed", "skipped"].includes(phase.step) &&
              !(
                phase.step === "verifying" &&
                (phase.attempt.commits.settled || phase.attempt.train.merge !== undefined)
              ) &&
              // One that a person accepted waits until nobody else is in the checkout.
              !(
                phase.step === "committing" &&
                phase.attempt.judged.accepted &&
                !open.some((one) => one.phase === id)
              ) &&
              !now.parents.has(id),
          );
          // What leaves a question may stand beside what began meanwhile, but only in a worktree of its own.
          const inCheckout = underWay.filter(([, phase]) => lastAttempt(phase)?.origin.worktree === undefined);
          if (!now.inWorktrees) expect(inCheckout.length).toBeLessThanOrEqual(1);
          if (event.type === "command-issued" && event.command.type === "start-phase") {
            // A sub-phase begins in its phase's place, whoever left a question meanwhile.
            if (!now.parents.has(event.command.phase)) expect(underWay.length).toBeLessThanOrEqual(limits.parallel);
            const phase = plan.phases.find((candidate) => candidate.id === event.command.phase);
            for (const id of phase?.dependsOn ?? []) expect(["done", "skipped"]).toContain(now.phases.get(id)?.step);
          }
          const places = [...now.sessions.values()]
            .filter((session) => session.step !== "ended")
            .map(({ phase: id }) => {
              const phase = now.phases.get(id);
              return isAttempted(phase) ? (phase.attempt.origin.worktree?.branch ?? "checkout") : `?${id}`;
            });
          expect(new Set(places).size).toBe(places.length);
          expect(readiness(now)).toEqual(now.readiness);
          // Who is asked about a part is not asked about the whole as well: the answers could contradict each other.
          if (event.type === "phase-failed")
            for (const [part, parent] of now.parents)
              if (parent === event.phase) expect(openQuestions(now).map(({ phase }) => phase)).not.toContain(part);
          // Who is left out is asked about no more.
          for (const { phase } of openQuestions(now)) expect(now.phases.get(phase)?.step).not.toBe("skipped");
          // Once it is to stop, nothing is waited for.
          if (event.type === "time-reached") expect(now.stopping).toBeUndefined();
        });
        const ids = events.flatMap((event) => (event.type === "command-issued" ? [event.command.id] : []));
        expect(new Set(ids).size).toBe(ids.length);
        for (const phase of plan.phases) {
          const sessions = events.filter((event) => event.type === "session-started" && event.phase === phase.id);
          expect(sessions.length).toBeLessThanOrEqual(limits.max_sessions_per_phase);
          const rounds = events.flatMap((event) =>
            event.type === "gate-finished" && event.phase === phase.id && !event.command.includes("/m")
              ? [event.round]
              : [],
          );
          for (const round of rounds) expect(round).toBeLessThanOrEqual(limits.max_remediations);
        }
        // No phase is lost: each of the plan is still there, and a split one is done only with all its parts.
        for (const { id } of plan.phases) expect(state.phases.has(id)).toBe(true);
        const over = (id: string) => ["done", "skipped"].includes(state.phases.get(id)?.step ?? "");
        for (const [part, parent] of state.parents)
          if (state.phases.get(parent)?.step === "done") expect(over(part)).toBe(true);
        expect(state.status === "completed").toBe([...state.phases.keys()].every(over));
      }),
      { numRuns: Number(process.env.MUTATIONS ?? 200), examples: WORLDS },
    );
  });

  test("at most one merge is under way per target", () => {
    fc.assert(
      fc.property(anyPlan, anyLimits, anyChoices, (plan, limits, choices) => {
        simulate(plan, { ...limits, parallel: 4 }, choices, (state) => {
          const targets = [...state.inFlight.values()]
            .filter((command) => command.type === "merge-phase")
            .map((command) => state.parents.get(command.phase) ?? "the run's branch");
          expect(new Set(targets).size).toBe(targets.length);
        });
      }),
      { numRuns: Number(process.env.MUTATIONS ?? 200) },
    );
  });

  test("what lands was tested together with exactly what is on the branch", () => {
    let landed = 0;
    // Phases that depend on nobody finish together: that is what makes a train.
    const anyTrain = anyPlan.map((plan) => ({
      ...plan,
      phases: plan.phases.map((phase) => ({ ...phase, dependsOn: [], files: [] })),
    }));
    fc.assert(
      fc.property(anyTrain, anyLimits, anyChoices, (plan, limits, choices) => {
        simulate(plan, { ...limits, parallel: 4, split: "off" }, choices, (state, event) => {
          if (event.type === "command-issued" && event.command.type === "merge-phase" && event.command.lands) {
            landed++;
            const phase = state.phases.get(event.phase);
            const merge = isAttempted(phase) ? phase.attempt.train.merge : undefined;
            expect(merge?.candidate).toBe(event.command.lands);
            expect(merge?.tested).toBe(true);
            // What it was built on is the newest on the branch.
            const newest = [...state.mergedAs.values()].at(-1) ?? "before";
            expect(merge?.base).toBe(newest);
            expect(phase?.step === "merging" && phase.results.every(({ passed }) => passed)).toBe(true);
          }
        });
      }),
      { numRuns: Number(process.env.MUTATIONS ?? 200) },
    );
    // By chance 13 to 25 of 400 runs; none would mean that nothing was looked at.
    expect(landed).toBeGreaterThan(0);
  });

  test("events of different phases may change places: the state is the same", () => {
    const kinds = new Set<string>();
    fc.assert(
      fc.property(anyPlan, anyLimits, anyChoices, fc.nat(), (plan, limits, choices, from) => {
        const { events, state } = simulate(plan, { ...limits, parallel: 4 }, choices);
        // A phase and its sub-phases are one family: the split comes before its parts.
        const rootOf = (id: string): string => {
          const parent = state.parents.get(id);
          return parent === undefined ? id : rootOf(parent);
        };
        const phaseIn = (event: RunEvent | undefined) =>
          event !== undefined && "phase" in event ? event.phase : undefined;
        const pairs = events.flatMap((event, at) => {
          const [a, b] = [phaseIn(event), phaseIn(events[at + 1])];
          return a !== undefined && b !== undefined && rootOf(a) !== rootOf(b) ? [at] : [];
        });
        // A few of each run: folding a journal anew for each pair is dear.
        for (const at of [0, 1, 2].flatMap((n) => pairs[(from + n * 7) % Math.max(1, pairs.length)] ?? [])) {
          const [a, b] = [events[at], events[at + 1]] as [RunEvent, RunEvent];
          kinds.add(`${a.type} ${b.type}`);
          const before = events.slice(0, at);
          expect(replay([...before, b, a])).toEqual(replay([...before, a, b]));
        }
      }),
      { numRuns: Number(process.env.MUTATIONS ?? 300) },
    );
    expect(kinds.size).toBeGreaterThan(40);
  });

  test("any prefix of any journal replays, the same journal gives the same state, and no decision is drawn twice", () => {
    fc.assert(
      fc.property(anyPlan, anyLimits, anyChoices, fc.nat(), (plan, limits, choices, cut) => {
        const { events, state } = simulate(plan, limits, choices);
        expect(replay(events)).toEqual(state);
        const prefix = replay(events.slice(0, (cut % events.length) + 1));
        const again = replay(events.slice(0, (cut % events.length) + 1));
        expect(prefix).toEqual(again);
        expect(decide(prefix as RunState)).toEqual(decide(again as RunState));
      }),
      { numRuns: Number(process.env.MUTATIONS ?? 200) },
    );
  });

  test("a phase is done only after every one of its gates passed in its last round", () => {
    fc.assert(
      fc.property(anyPlan, anyLimits, anyChoices, (plan, limits, choices) => {
        const { events } = simulate(plan, limits, choices);
        for (const done of events) {
          if (done.type !== "phase-done") continue;
          const accepted = events.some(
            (event) =>
              event.type === "question-answered" &&
              event.phase === done.phase &&
              event.seq < done.seq &&
              event.choice === "continue",
          );
          // A person's word: it is done, and not verified.
          if (accepted && !done.verified) continue;
          const gates = events.flatMap((event) =>
            event.type === "gate-finished" && event.phase === done.phase && event.seq < done.seq ? [event] : [],
          );
          const merged = events.findLast(
            (event) =>
              event.type === "command-issued" &&
              event.command.type === "merge-phase" &&
              event.phase === done.phase &&
              event.seq < done.seq,
          );
          // One whose place in the train was behind somebody who left lands as it is, where nothing came meanwhile: what
          // counts is what was tested alone.
          const alone =
            merged?.type === "command-issued" &&
            merged.command.type === "merge-phase" &&
            merged.command.lands === undefined;
          // A person looks when all gates of the round have passed.
          const last = gates.findLast(
            ({ command }) => !command.includes("/human/") && !(alone && command.includes("/gate/m")),
          );
          const round = gates.filter(
            (gate) => gate.command.replace(/[^/]+$/, "") === last?.command.replace(/[^/]+$/, ""),
          );
          const phase = plan.phases.find((candidate) => candidate.id === done.phase);
          if (phase === undefined) continue;
          // In a merged state a conflict that was resolved is one more, and the same command runs once.
          const wanted = last?.command.includes("/m") === true ? Math.min(1, phase.gates.length) : phase.gates.length;
          expect(round.every((gate) => gate.passed)).toBe(true);
          expect(round.length).toBeGreaterThanOrEqual(wanted);
          // A person who looked and said yes is a gate, too.
          const repaired = events.findLast(
            ({ type, ...event }) => type === "session-started" && "phase" in event && event.phase === done.phase,
          );
          const looked = gates.some(
            ({ command, passed, seq }) => command.includes("/human/") && passed && seq > (repaired?.seq ?? 0),
          );
          expect(done.verified).toBe(phase.gates.length > 0 || looked);
        }
      }),
      { numRuns: Number(process.env.MUTATIONS ?? 200) },
    );
  });
});

describe("what was handed in counts, however its session ended after it", () => {
  const one = { ...samplePlan(), phases: samplePlan().phases.slice(0, 1) };
  const endedBy = (end: TurnEnd, reported: boolean) => {
    const { events } = simulate(
      one,
      { parallel: 1, max_restarts: 3, max_sessions_per_phase: 9, max_remediations: 0 },
      [],
    );
    const until = events.findIndex((event) => event.type === "turn-ended");
    const before = events.slice(0, until).filter((event) => reported || event.type !== "result-reported");
    return replay(
      [...before, { ...(events[until] as RunEvent), end } as RunEvent].map((event, index) => ({
        ...event,
        seq: index + 1,
      })),
    ) as RunState;
  };

  test("a result, although the agent's process died right after it", () => {
    expect(decide(endedBy({ type: "crashed", message: "x" }, true))).toMatchObject([
      { command: { type: "end-session", reason: "result" } },
    ]);
    expect(decide(endedBy({ type: "crashed", message: "x" }, false))).toMatchObject([
      { command: { type: "end-session", reason: "crashed" } },
    ]);
  });

  test("a result, although Segno was killed right after it: the gates follow, not another session", () => {
    const state = endedBy({ type: "finished" }, true);
    const [session] = [...state.sessions.values()];
    const event = {
      v: 1,
      seq: state.seq + 1,
      at: "",
      epoch: 2,
      type: "session-ended",
      command: "x",
      session: session?.id ?? "",
      phase: "1",
      attempt: 1,
      reason: "killed",
      swept: 0,
    } as RunEvent;
    expect(evolve(state, event).phases.get("1")?.step).toBe("verifying");
  });
});

function samplePlan() {
  const [plan] = fc.sample(anyPlan, { numRuns: 1, seed: 1 });
  if (plan === undefined) throw new Error("no plan");
  return plan;
}
