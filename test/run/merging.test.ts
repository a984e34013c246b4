import { describe, expect, test } from "vitest";
import { configSchema } from "../../src/config/schema.js";
import { sharingWith } from "../../src/run/merging.js";
import type { RunState } from "../../src/run/state.js";

const merged = new Map([
  ["1", ["a.ts", "b.ts"]],
  ["2", ["c.ts"]],
]);

const state = (merge_gates: "shared" | "all") =>
  ({ merged, config: configSchema.parse({ merge_gates }) }) as unknown as RunState;

describe("whose gates judge a merged state, beside the phase's own", () => {
  test("shared: those of merged phases that changed the same files", () => {
    expect(sharingWith(state("shared"), "3", ["b.ts", "z.ts"])).toEqual(["1"]);
    expect(sharingWith(state("shared"), "3", ["z.ts"])).toEqual([]);
  });

  test("all: those of every merged phase, and never its own twice", () => {
    expect(sharingWith(state("all"), "3", ["z.ts"])).toEqual(["1", "2"]);
    expect(sharingWith(state("all"), "1", ["a.ts"])).toEqual(["2"]);
  });
});
