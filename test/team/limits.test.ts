/** Usage limits in a team: who can go on does, whoever met the limit, and what needs no agent waits for none. */
import { describe, expect, test } from "vitest";
import type { Reply } from "../../src/rehearsal/reply.js";
import type { Behaviour } from "../../src/rehearsal/server.js";
import { worker } from "../../src/rehearsal/worker.js";
import type { RunEvent } from "../../src/run/event.js";
import { inProcessAgent } from "../support/in-process-agent.js";
import { whyNoPostgres } from "../support/postgres.js";
import { type TeamOfOne, teamOfOne } from "../support/team-of-one.js";

const limited = (seconds: number): Reply => ({
  type: "error",
  status: 429,
  error: "rate_limit_error",
  message: "limit reached",
  headers: {
    "anthropic-ratelimit-unified-status": "rejected",
    "anthropic-ratelimit-unified-reset": String(Math.ceil(Date.now() / 1_000) + seconds),
    "x-should-retry": "false",
  },
});

const after =
  (calls: number, seconds: number) =>
  (answers: Behaviour): Behaviour => {
    let made = 0;
    return (request) => (++made > calls ? limited(seconds) : answers(request));
  };

const isOver = (events: readonly RunEvent[]): boolean =>
  events.some(({ type }) => /^run-(completed|failed|stopped)$/.test(type));
const isDone = (events: readonly RunEvent[]): boolean => events.some(({ type }) => type === "run-completed");

const second = () =>
  inProcessAgent({
    name: "second",
    window: 200_000,
    behaviour: worker({ charsPerTask: 0, onTask: () => {}, onRefused: () => {} }),
    onExchange: () => {},
  });
const RELAY = { agent: "in-process", fallback: ["second"] };

function offersBoth({ machine }: TeamOfOne): void {
  machine.offer = { ...machine.offer, agents: { "in-process": "one", second: "two" } };
}

describe.skipIf(whyNoPostgres() !== undefined)("a usage limit in a team", () => {
  test("the next phase begins with whoever goes on", async () => {
    const phases = [
      { id: "1", tasks: 3 },
      { id: "2", tasks: 1, dependsOn: ["1"] },
    ];
    const team = await teamOfOne(phases, { behave: after(3, 3_600), settings: RELAY, others: [second()] });
    offersBoth(team);
    expect(isDone(await team.workUntil("it is over", isOver))).toBe(true);
  });

  test("a commit after a person's word waits for no agent", async () => {
    const team = await teamOfOne([{ id: "1", tasks: 3, gates: ["manual"] }], {
      behave: after(3, 3_600),
      settings: RELAY,
      others: [second()],
      attended: true,
    });
    offersBoth(team);
    let answered = false;
    const events = await team.workUntil("it is over", async (now) => {
      const asked = now.findIndex(({ type }) => type === "question-asked");
      if (!answered && asked >= 0 && now.slice(asked).some(({ type }) => type === "phase-let-go")) {
        answered = true;
        await team.ask("answer", { answer: "pass" });
      }
      return isOver(now);
    });
    expect(isDone(events)).toBe(true);
  });

  test("that another run met counts here, too", async () => {
    const team = await teamOfOne([{ id: "1", tasks: 1 }], { settings: RELAY, others: [second()] });
    offersBoth(team);
    await team.machine.store.limitAccount("in-process", "one", new Date(Date.now() + 3_600_000).toISOString());
    const events = await team.workUntil("it is over", isOver);
    expect(isDone(events)).toBe(true);
    expect(events.flatMap((event) => (event.type === "session-started" ? [event.agent] : []))).toEqual(["second"]);
    expect(events.filter(({ type }) => type === "limit-reached")).toHaveLength(1);
  });

  test("that is over already by a clock that is wrong is not met again and again", async () => {
    const team = await teamOfOne([{ id: "1", tasks: 3 }], { behave: after(3, -900) });
    const events = await team.workUntil("it is met", (now) => now.some(({ type }) => type === "limit-reached"));
    const [met] = events.flatMap((event) => (event.type === "limit-reached" ? [event] : []));
    expect(Date.parse(met?.until ?? "")).toBeGreaterThan(Date.parse(met?.at ?? ""));
  });
});
