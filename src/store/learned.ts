/** `learned.json`: what earlier phases here needed, per agent. Damaged or missing, it is empty: it only ever helps. */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Learned, NOTHING_LEARNED } from "../context/forecast.js";
import { writeWhole } from "./atomic.js";

const MOST = 100;
const learnedPath = (folder: string): string => join(folder, "learned.json");

type Book = Record<string, Learned>;

function readBook(folder: string): Book {
  try {
    const book: unknown = JSON.parse(readFileSync(learnedPath(folder), "utf8"));
    return typeof book === "object" && book !== null ? (book as Book) : {};
  } catch {
    return {};
  }
}

export function readLearned(folder: string, agent: string): Learned {
  const found = readBook(folder)[agent];
  return found !== undefined && Array.isArray(found.firstPrompts) && Array.isArray(found.samples)
    ? found
    : NOTHING_LEARNED;
}

/** The newest of each. */
export const mergedLearned = (before: Learned, more: Learned): Learned => ({
  firstPrompts: [...before.firstPrompts, ...more.firstPrompts].slice(-MOST),
  samples: [...before.samples, ...more.samples].slice(-MOST),
  repairs: [...(before.repairs ?? []), ...(more.repairs ?? [])].slice(-MOST),
  rereads: [...(before.rereads ?? []), ...(more.rereads ?? [])].slice(-MOST),
  windows: { ...before.windows, ...more.windows },
});

export function addLearned(folder: string, agent: string, more: Learned): void {
  const book: Book = { ...readBook(folder), [agent]: mergedLearned(readLearned(folder, agent), more) };
  mkdirSync(folder, { recursive: true });
  writeWhole(learnedPath(folder), `${JSON.stringify(book, null, 1)}\n`);
}
