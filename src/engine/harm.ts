/**
 * Limits on what an agent may do to the machine, looked at between its calls: how much it writes, what is left of the
 * disk, and how many processes it has. Before the disk is full the run is stopped, while there is room for a checkpoint.
 */
import { lstatSync, readdirSync, readFileSync, statfsSync } from "node:fs";
import { totalmem } from "node:os";
import { join } from "node:path";
import { findProcesses } from "../agents/processes.js";

/** Below this nothing more is begun: a commit and a checkpoint must still fit. */
const LEAST_FREE = 200 * 1024 * 1024;
/** A look at every file takes a while: only after the disk lost as much, and not again before it lost more. */
const MOST_FILES = 200_000;
const MOST_PROCESSES = 100;
const MEMORY_SHARE = 0.5;
const PROCESSES_EVERY_MS = 2_000;
const GB = 1024 ** 3;

const gigabytes = (bytes: number): string => `${(bytes / GB).toFixed(1)} GB`;

/** Why nothing more is to be begun there. */
export function nearlyFull(folder: string): string | undefined {
  const free = freeBytes(folder) ?? Number.POSITIVE_INFINITY;
  return free < LEAST_FREE ? `the disk is nearly full: ${Math.round(free / 1024 / 1024)} MB are left` : undefined;
}

export interface Limits {
  maxNewBytes: number;
}

export class HarmWatch {
  readonly #folder: string;
  readonly #marker: string;
  readonly #limits: Limits;
  readonly #began: number;
  #free: number | undefined;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #said = false;

  constructor(folder: string, marker: string, limits: Limits, began: number) {
    this.#folder = folder;
    this.#marker = marker;
    this.#limits = limits;
    this.#began = began;
    this.#free = freeBytes(folder);
  }

  /** Why the run must stop now. */
  disk(): string | undefined {
    const full = nearlyFull(this.#folder);
    const free = freeBytes(this.#folder);
    if (full !== undefined || free === undefined) return full;
    const before = this.#free ?? free;
    if (before - free < this.#limits.maxNewBytes) return undefined;
    const { bytes, largest } = newBytes(this.#folder, this.#began);
    // Somebody else filled it, or it was written elsewhere.
    this.#free = free;
    if (bytes < this.#limits.maxNewBytes) return undefined;
    return `the agent wrote ${gigabytes(bytes)} (max_new_bytes: ${gigabytes(this.#limits.maxNewBytes)}), most of it in ${largest}`;
  }

  /** What is remarkable about its processes: said once, and ended with the session in any case. */
  async processes(): Promise<string | undefined> {
    if (this.#said || performance.now() - this.#lookedAt < PROCESSES_EVERY_MS) return undefined;
    this.#lookedAt = performance.now();
    const found = (await findProcesses((marker) => marker === this.#marker)).map(({ pid }) => ({
      pid,
      ...sizeOf(pid),
    }));
    const memory = found.reduce((sum, { bytes }) => sum + bytes, 0);
    if (found.length <= MOST_PROCESSES && memory < totalmem() * MEMORY_SHARE) return undefined;
    this.#said = true;
    const large = found.toSorted((a, b) => b.bytes - a.bytes).slice(0, 3);
    const names = large.map(({ name, pid, bytes }) => `${name} (${pid}, ${gigabytes(bytes)})`).join(", ");
    return `The session has ${found.length} processes with ${gigabytes(memory)} of memory; the largest: ${names}. They are ended with it.`;
  }
}

function freeBytes(folder: string): number | undefined {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    return undefined;
  }
}

/** What was written in a folder since a moment, whatever git thinks of it, and where most of it is. */
function newBytes(folder: string, since: number): { bytes: number; largest: string } {
  let [bytes, seen] = [0, 0];
  const byTop = new Map<string, number>();
  const walk = (path: string, top: string): void => {
    for (const entry of entriesOf(path)) {
      if (++seen > MOST_FILES) return;
      const full = join(path, entry.name);
      const own = top === "" ? entry.name : top;
      if (entry.isDirectory()) {
        if (entry.name !== ".git") walk(full, own);
        continue;
      }
      const found = lstatSync(full, { throwIfNoEntry: false });
      if (found?.isFile() !== true || found.mtimeMs < since) continue;
      bytes += found.size;
      byTop.set(own, (byTop.get(own) ?? 0) + found.size);
    }
  };
  walk(folder, "");
  return { bytes, largest: [...byTop].toSorted((a, b) => b[1] - a[1])[0]?.[0] ?? folder };
}

function entriesOf(path: string) {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch {
    return [];
  }
}

/** Resident memory and name, where the system tells. */
function sizeOf(pid: number): { bytes: number; name: string } {
  try {
    const pages = Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]);
    return { bytes: pages * 4096, name: readFileSync(`/proc/${pid}/comm`, "utf8").trim() };
  } catch {
    return { bytes: 0, name: "?" };
  }
}
