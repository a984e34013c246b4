/** Which cells of the complete crash matrix have passed, for this build: one that was ended goes on from here. */
import { createHash } from "node:crypto";
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const DIST = fileURLToPath(new URL("../../dist/", import.meta.url));
const FOLDER = fileURLToPath(new URL("../../.crash/", import.meta.url));

export interface CellName {
  scenario: string;
  signal: string;
  k: number;
}

interface Passed extends CellName {
  build: string;
  redone: number;
}

export class CellBook {
  readonly #build: string;
  readonly #file: string;
  readonly #passed: Passed[];
  #failed = 0;

  constructor() {
    mkdirSync(FOLDER, { recursive: true });
    this.#build = buildHash();
    this.#file = join(FOLDER, "passed.jsonl");
    const lines = existsSync(this.#file) ? readFileSync(this.#file, "utf8").split("\n") : [];
    this.#passed = lines
      .filter((line) => line.endsWith("}"))
      .map((line) => JSON.parse(line) as Passed)
      .filter(({ build }) => build === this.#build);
  }

  has({ scenario, signal, k }: CellName): boolean {
    return this.#passed.some((cell) => cell.scenario === scenario && cell.signal === signal && cell.k === k);
  }

  passed(cell: CellName, after: string, redone: number): void {
    this.#passed.push({ ...cell, build: this.#build, redone });
    appendFileSync(this.#file, `${JSON.stringify({ ...cell, build: this.#build, redone })}\n`);
    say(`passed  ${cell.signal} after ${cell.k} (${after})${redone > 0 ? `, ${redone} done twice` : ""}`);
  }

  failed(cell: CellName, after: string, output: string): void {
    this.#failed++;
    const file = join(FOLDER, `${cell.scenario.split(",")[0]}-${cell.signal}-${cell.k}.txt`.replaceAll(" ", "-"));
    writeFileSync(file, `${cell.scenario}\n${cell.signal} after event ${cell.k} (${after})\n\n${output}\n`);
    say(`FAILED  ${cell.signal} after ${cell.k} (${after}): ${file}`);
  }

  sum(scenario: string, signal: string, cells: number): void {
    const mine = this.#passed.filter((cell) => cell.scenario === scenario && cell.signal === signal);
    const redone = mine.reduce((sum, cell) => sum + cell.redone, 0);
    say(`${scenario}: ${signal}, ${mine.length} of ${cells} passed, ${this.#failed} failed, ${redone} done twice`);
  }
}

/** Past whatever collects what tests print. */
const say = (line: string): void => {
  appendFileSync(join(FOLDER, "log.txt"), `${line}\n`);
  try {
    writeSync(1, `${line}\n`);
  } catch {
    // Whoever read it is gone; the file has it.
  }
};

function buildHash(): string {
  const hash = createHash("sha256");
  const files = readdirSync(DIST, { recursive: true, encoding: "utf8" }).filter((name) => /\.m?js$/.test(name));
  for (const name of files.sort()) hash.update(name).update(readFileSync(join(DIST, name)));
  return hash.digest("hex").slice(0, 16);
}
