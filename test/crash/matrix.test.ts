/**
 * The crash matrix: runs that are ended after event k and resumed end like an undisturbed one. Sampled here;
 * `npm run test:crash` takes every k, for SIGKILL and for SIGTERM: a line per cell, what a failing cell printed in a
 * file, and ended in the middle it goes on where it was.
 */
import { describe, expect, test } from "vitest";
import { CellBook } from "../support/cell-book.js";
import { AT_ONCE, crashAt, ONE_AFTER_ANOTHER, type Scenario, undisturbed } from "../support/crash.js";

const complete = process.env.CRASH_MATRIX === "complete";
const CELLS_AT_ONCE = Number(process.env.CRASH_CELLS ?? 3);

/** `CRASH_ONLY=109,118 npm run test:crash` takes these again. */
const ONLY = (process.env.CRASH_ONLY ?? "")
  .split(",")
  .filter((k) => k !== "")
  .map(Number);

/** In the middle of what the scenario is about. */
const middle = (types: readonly string[], of: string): number => types.indexOf(of) + 1;

async function matrix(scenario: Scenario, sampled: (types: string[]) => number[]) {
  const truth = await undisturbed(scenario);
  const book = complete ? new CellBook() : undefined;
  const failures: string[] = [];
  for (const signal of ["SIGKILL", "SIGTERM"] as const) {
    // `CRASH_SIGNAL=SIGKILL npm run test:crash` takes half of it.
    if (process.env.CRASH_SIGNAL !== undefined && process.env.CRASH_SIGNAL !== signal) continue;
    const ks = complete ? truth.types.map((_, index) => index + 1) : signal === "SIGKILL" ? sampled(truth.types) : [];
    const waiting = ks.filter(
      (k) => book?.has({ scenario: scenario.name, signal, k }) !== true && (ONLY.length === 0 || ONLY.includes(k)),
    );
    const take = async () => {
      for (let k = waiting.shift(); k !== undefined; k = waiting.shift()) {
        const cell = { scenario: scenario.name, signal, k };
        const after = truth.types[k - 1] ?? "";
        try {
          const { redone } = await crashAt(scenario, k, signal, truth);
          book?.passed(cell, after, redone.length);
        } catch (error) {
          book?.failed(cell, after, String(error));
          failures.push(`${signal} after event ${k} (${after}): ${String(error).slice(0, 3_000)}`);
        }
      }
    };
    await Promise.all(Array.from({ length: CELLS_AT_ONCE }, take));
    book?.sum(scenario.name, signal, ks.length);
  }
  expect(failures).toEqual([]);
}

/** However long all of it takes. */
const limit = complete ? 0 : 420_000;
const describeCells = complete ? describe : describe.concurrent;

describeCells("a run that is ended after event k and resumed ends like an undisturbed one", () => {
  test(ONE_AFTER_ANOTHER.name, () => matrix(ONE_AFTER_ANOTHER, (types) => [middle(types, "checkpoint-saved")]), limit);

  test(AT_ONCE.name, () => matrix(AT_ONCE, (types) => [middle(types, "merge-begun")]), limit);
});
