/**
 * The crash matrix: runs that are ended after event k and resumed end like an undisturbed one. Sampled here;
 * `npm run test:crash` takes every k, for SIGKILL and for SIGTERM.
 */
import { describe, expect, test } from "vitest";
import { AT_ONCE, type Cell, crashAt, ONE_AFTER_ANOTHER, type Scenario, undisturbed } from "../support/crash.js";

const complete = process.env.CRASH_MATRIX === "complete";
const CELLS_AT_ONCE = 3;

/** In the middle of what the scenario is about. */
const middle = (types: readonly string[], of: string): number => types.indexOf(of) + 1;

async function matrix(
  scenario: Scenario,
  cells: { killed: (types: string[]) => number[]; stopped: (types: string[]) => number[] },
) {
  const truth = await undisturbed(scenario);
  const failures: string[] = [];
  for (const signal of ["SIGKILL", "SIGTERM"] as const) {
    // `CRASH_SIGNAL=SIGKILL npm run test:crash` takes half of it.
    if (process.env.CRASH_SIGNAL !== undefined && process.env.CRASH_SIGNAL !== signal) continue;
    const ks = complete
      ? truth.types.map((_, index) => index + 1)
      : cells[signal === "SIGKILL" ? "killed" : "stopped"](truth.types);
    const waiting = [...ks];
    const ended: Cell[] = [];
    const take = async () => {
      for (let k = waiting.shift(); k !== undefined; k = waiting.shift()) {
        try {
          ended.push(await crashAt(scenario, k, signal, truth));
        } catch (error) {
          if (complete)
            process.stdout.write(
              `${signal} after ${k} (${truth.types[k - 1]}) failed: ${String(error).slice(0, 3_000)}\n`,
            );
          failures.push(`${signal} after event ${k} (${truth.types[k - 1]}): ${String(error).slice(0, 3_000)}`);
        }
      }
    };
    await Promise.all(Array.from({ length: CELLS_AT_ONCE }, take));
    const redone = ended.reduce((sum, cell) => sum + cell.redone.length, 0);
    if (complete)
      process.stdout.write(`${scenario.name}: ${signal} ${ks.length}, failed ${failures.length}, twice ${redone}\n`);
  }
  expect(failures).toEqual([]);
}

const limit = complete ? 3_600_000 : 420_000;

describe.concurrent("a run that is ended after event k and resumed ends like an undisturbed one", () => {
  test(
    ONE_AFTER_ANOTHER.name,
    () => matrix(ONE_AFTER_ANOTHER, { killed: (types) => [middle(types, "checkpoint-saved")], stopped: () => [] }),
    limit,
  );

  test(
    AT_ONCE.name,
    () =>
      matrix(AT_ONCE, {
        killed: (types) => [middle(types, "merge-begun")],
        stopped: () => [],
      }),
    limit,
  );
});
