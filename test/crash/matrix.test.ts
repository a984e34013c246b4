/**
 * The crash matrix: a run with two phases, a handover, a failing gate and its repair, ended after event k and resumed.
 * Sampled here; `npm run test:crash` takes every k, for SIGKILL and for SIGTERM.
 */
import { beforeAll, describe, expect, test } from "vitest";
import { type Cell, crashAt, type Undisturbed, undisturbed } from "../support/crash.js";

const complete = process.env.CRASH_MATRIX === "complete";
const AT_ONCE = 3;
const cells: { k: number; signal: string; cell: Cell }[] = [];
let truth: Undisturbed;

beforeAll(async () => {
  truth = await undisturbed();
}, 120_000);

const sampled = (n: number, share: number): number[] =>
  Array.from({ length: share }, (_, index) => 1 + Math.floor((index * (n - 1)) / Math.max(1, share - 1)));

describe("a run that is ended after event k and resumed ends like an undisturbed one", () => {
  for (const signal of ["SIGKILL", "SIGTERM"] as const) {
    test(
      signal,
      async () => {
        const ks = complete
          ? Array.from({ length: truth.events }, (_, index) => index + 1)
          : sampled(truth.events, signal === "SIGKILL" ? 3 : 1);
        const waiting = [...ks];
        const failures: string[] = [];
        const take = async () => {
          for (let k = waiting.shift(); k !== undefined; k = waiting.shift()) {
            try {
              cells.push({ k, signal, cell: await crashAt(k, signal, truth) });
            } catch (error) {
              failures.push(`after event ${k} (${truth.types[k - 1]}): ${String(error).slice(0, 3_000)}`);
            }
          }
        };
        await Promise.all(Array.from({ length: AT_ONCE }, take));
        const redone = cells
          .filter((entry) => entry.signal === signal)
          .reduce((sum, { cell }) => sum + cell.redone.length, 0);
        if (complete)
          process.stdout.write(
            `${signal}: ${ks.length} kills, ${failures.length} failed, ${redone} tasks done twice\n`,
          );
        expect(failures).toEqual([]);
      },
      complete ? 3_600_000 : 420_000,
    );
  }
});
