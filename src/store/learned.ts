/** `.segno/learned.json`: what earlier phases here needed, per agent. Damaged or missing, it is empty: it only ever helps. */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Learned, NOTHING_LEARNED } from "../context/forecast.js";

const MOST = 100;
const learnedPath = (top: string): string => join(top, ".segno", "learned.json");

type Book = Record<string, Learned>;

function readBook(top: string): Book {
  try {
    const book: unknown = JSON.parse(readFileSync(learnedPath(top), "utf8"));
    return typeof book === "object" && book !== null ? (book as Book) : {};
  } catch {
    return {};
  }
}

export function readLearned(top: string, agent: string): Learned {
  const found = readBook(top)[agent];
  return found !== undefined && Array.isArray(found.firstPrompts) && Array.isArray(found.samples)
    ? found
    : NOTHING_LEARNED;
}

export function addLearned(top: string, agent: string, more: Learned): void {
  const before = readLearned(top, agent);
  const book: Book = {
    ...readBook(top),
    [agent]: {
      firstPrompts: [...before.firstPrompts, ...more.firstPrompts].slice(-MOST),
      samples: [...before.samples, ...more.samples].slice(-MOST),
    },
  };
  const path = learnedPath(top);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.new`, `${JSON.stringify(book, null, 1)}\n`);
  renameSync(`${path}.new`, path);
}
