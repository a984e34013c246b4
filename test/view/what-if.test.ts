/** What the same work would have cost, against runs whose truth is known. */
import { describe, expect, test } from "vitest";
import { DEFAULT_CAP } from "../../src/context/policy.js";
import { listPrice } from "../../src/context/prices.js";
import { replay, type WorkedCall } from "../../src/context/what-if.js";
import { whatIf, whatIfPage } from "../../src/view/what-if.js";
import { workedPhases } from "../../src/view/worked-calls.js";
import { planFiles } from "../support/plans.js";
import { type RehearsalOptions, rehearse } from "../support/rehearsal.js";
import { scratchRepo } from "../support/scratch.js";

const PRICE = listPrice(3, 15);
const TASKS = 24;

async function worked(config: RehearsalOptions["config"], window = 1_000_000) {
  const repo = scratchRepo(planFiles([{ id: "1", tasks: TASKS }]));
  const run = await rehearse({ repo, charsPerTask: 15_000, window, ...(config === undefined ? {} : { config }) });
  expect(run.status).toBe("completed");
  const [phase] = workedPhases(run.events);
  return { calls: phase?.calls ?? [], run };
}

const within = (guess: number, truth: number): number => Math.abs(guess / truth - 1);

describe.concurrent("the same work under another policy", () => {
  test("is foreseen within 5 %: never handed over, by default, at a cap, and back", async () => {
    const cap = 60_000;
    const [never, auto, capped] = await Promise.all([
      worked({ context_soft: "off", context_max_tokens: "off" }),
      worked({}),
      worked({ context_soft: "off", context_max_tokens: cap }),
    ]);
    const cost = (calls: readonly WorkedCall[]) => replay(calls, { type: "as-it-was" }, PRICE).cost;
    // The stand-in reads nothing again, and says little.
    const assumed = { reread: 0, question: 250, answer: 350, checkpoint: 900, fresh: 2_500 };
    const guess = (calls: readonly WorkedCall[], policy: Parameters<typeof replay>[1]) =>
      replay(calls, policy, PRICE, assumed).cost;
    expect(auto.run.of("session-started").length).toBeGreaterThan(2);
    expect(capped.run.of("session-started").length).toBeGreaterThan(1);
    expect(within(guess(never.calls, { type: "never" }), cost(never.calls))).toBeLessThan(0.05);
    expect(within(guess(never.calls, { type: "auto", cap: DEFAULT_CAP }), cost(auto.calls))).toBeLessThan(0.05);
    expect(within(guess(never.calls, { type: "at", tokens: cap, natural: false }), cost(capped.calls))).toBeLessThan(
      0.05,
    );
    expect(within(guess(auto.calls, { type: "never" }), cost(never.calls))).toBeLessThan(0.05);
  });
});

describe("what is shown", () => {
  const calls: WorkedCall[] = Array.from({ length: 40 }, (_, n) => ({
    usage: { input: 2, cacheRead: 20_000 + n * 3_000, cacheWrite: 3_000, output: 300 },
    natural: n % 4 === 0,
    compacted: false,
  }));

  test("each policy beside what it was, in dollars and tokens, with what was assumed", () => {
    const figures = whatIf([{ name: "<a>", model: "m", window: 200_000, calls, price: PRICE }], DEFAULT_CAP);
    expect(figures.total.map(({ policy }) => policy)).toContain("auto, Segno's default");
    expect(figures.total[0]).toMatchObject({ policy: "as it was", ratio: 1, sessions: 1 });
    const auto = figures.total.find(({ policy }) => policy.startsWith("auto"));
    expect(auto?.ratio).toBeLessThan(0.8);
    expect(auto?.sessions).toBeGreaterThan(1);
    const page = whatIfPage(figures);
    expect(page).toContain("&lt;a&gt;");
    expect(page).not.toMatch(/https?:\/\/|<script/);
    expect(figures.assumptions.join(" ")).not.toContain("nothing shows");
  });

  test("without a price there are ratios and no dollars; without anything finished, that is said", () => {
    const plain = calls.map((call) => ({ ...call, natural: false }));
    const figures = whatIf([{ name: "a", model: "m", window: 200_000, calls: plain, price: undefined }], DEFAULT_CAP);
    expect(figures.total.every(({ cost_usd }) => cost_usd === null)).toBe(true);
    expect(figures.assumptions.join(" ")).toContain("In 1 of 1 nothing shows when a task was finished");
  });
});
