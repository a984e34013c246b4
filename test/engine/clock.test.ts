import { expect, test } from "vitest";
import { jumpBetween } from "../../src/engine/clock.js";

test("time the machine slept through shows as the wall clock running ahead of the monotonic one", () => {
  expect(jumpBetween({ wall: 1_000, monotonic: 500 }, { wall: 6_000, monotonic: 5_500 })).toBe(0);
  expect(jumpBetween({ wall: 1_000, monotonic: 500 }, { wall: 3_606_000, monotonic: 5_500 })).toBe(3_600_000);
  expect(jumpBetween({ wall: 3_600_000, monotonic: 500 }, { wall: 5_000, monotonic: 5_500 })).toBe(-3_600_000);
});
