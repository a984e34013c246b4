import { describe, expect, test } from "vitest";
import {
  forecastPlan,
  NOTHING_LEARNED,
  type PhaseShape,
  seenFirstPrompt,
  taskGroups,
} from "../../src/context/forecast.js";

const settings = {
  model: "claude-sonnet-4-5",
  context_limit: undefined,
  context_threshold: 80,
  context_soft: 65 as const,
  context_max_tokens: "off" as const,
  max_tokens: 2_000_000_000,
  max_cost_usd: 250,
};
const phase = (tasks: number, more: Partial<PhaseShape> = {}): PhaseShape => ({
  id: "1",
  tasks: Array.from({ length: tasks }, (_, n) => ({ id: `1.${n + 1}`, title: "t" })),
  complexity: undefined,
  prompt: 800,
  files: 0,
  ...more,
});
const learned = {
  firstPrompts: [22_000, 22_400, 22_200],
  samples: [{ tasks: 4, calls: 8, growth: 30_000, output: 1_600, model: "claude-sonnet-4-5", window: 200_000 }],
};

describe("a forecast", () => {
  test("rests on general figures until phases were seen here, then on those", () => {
    const [before] = forecastPlan([phase(4)], settings, NOTHING_LEARNED).phases;
    expect(before).toMatchObject({ work: 4 * 13_700, calls: 40, context: 32_800 + 800 + 54_800 });
    const after = forecastPlan([phase(4)], settings, learned);
    expect(after.samples).toBe(1);
    expect(after.phases[0]).toMatchObject({ work: 30_000, calls: 8, context: 22_200 + 800 + 30_000, sessions: 1 });
  });

  test("counts the files a phase names, and its complexity while nothing is known", () => {
    const forecast = (more: Partial<PhaseShape>) => forecastPlan([phase(2, more)], settings, NOTHING_LEARNED).phases[0];
    expect(forecast({ files: 9_000 })?.work).toBe(2 * 13_700 + 9_000);
    expect(forecast({ complexity: "high" })?.work).toBe(Math.round(2 * 13_700 * 1.6));
    expect(forecast({ complexity: "low" })?.work).toBe(Math.round(2 * 13_700 * 0.6));
  });

  test("warns above 80 % of what a session may fill, and proposes a split that fits", () => {
    const { phases, warnings } = forecastPlan([phase(30)], settings, learned);
    // 23,000 + 30 × 7,500 of 160,000.
    expect(phases[0]).toMatchObject({ percent: 155, sessions: 3 });
    const groups = phases[0]?.split ?? [];
    expect(groups.flat()).toEqual(phase(30).tasks.map((task) => task.id));
    for (const group of groups) expect(23_000 + group.length * 7_500).toBeLessThanOrEqual(0.8 * 160_000);
    expect(warnings).toEqual([
      "Phase 1 is expected to need 155 % of what one session may fill, and so about 3 sessions. It could be split into 3: 1.1 to 1.10; 1.11 to 1.20; 1.21 to 1.30.",
    ]);
    expect(forecastPlan([phase(14)], settings, learned).warnings).toEqual([]);
  });

  test("the plan's own groups of tasks come before equal parts", () => {
    const tasks = ["6A.1", "6A.2", "6B.1", "6C.1"].map((id) => ({ id }));
    expect(taskGroups(tasks, 2)).toEqual([["6A.1", "6A.2"], ["6B.1"], ["6C.1"]]);
  });

  test("warns when several phases with --force or --quality exceed the run's budget", () => {
    const small = { ...settings, max_tokens: 700_000 };
    const two = [phase(4), phase(4, { id: "2" })];
    expect(forecastPlan(two, small, learned).warnings).toEqual([]);
    const { warnings } = forecastPlan(two, small, learned, { quality: true, force: true });
    expect(warnings.join()).toMatch(/exceed its budget with --force and --quality on 2 phases: \d+ tokens of 700000/);
  });

  test("--quality or --force on several phases says before it starts what that needs, and quality's own part of it", () => {
    const two = [phase(4), phase(4, { id: "2" })];
    const of = (flags: { quality?: boolean; force?: boolean }) =>
      forecastPlan(two, settings, learned, flags).warnings[0];
    expect(of({ force: true })).toMatch(/^--force on 2 phases is expected to need about \d+ sessions and \d+ tokens/);
    expect(of({ quality: true })).toMatch(/^--quality on 2 phases .* Judging and repairing them is \d+ tokens/);
    expect(of({})).toBeUndefined();
  });

  test("an unlisted model has no cost, and nothing learned no first prompt", () => {
    expect(forecastPlan([phase(1)], { ...settings, model: "another" }, NOTHING_LEARNED).total.cost_usd).toBeNull();
    expect(seenFirstPrompt(NOTHING_LEARNED)).toBeUndefined();
    expect(seenFirstPrompt(learned)).toBe(22_200);
  });
});
