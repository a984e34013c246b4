/** Reads a journal that somebody else may still be writing: what is there, and then what comes. */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { EVENT_VERSION, type RunEvent } from "../run/event.js";
import { upcast } from "../run/upcast.js";
import { decodeLine } from "./line.js";

const CHUNK = 4 * 1024 * 1024;

export class JournalReader {
  readonly #file: () => string;
  #offset = 0;
  #sum = "";
  /** What is wrong with a line, if one is damaged: nothing after it is read. */
  damaged: string | undefined;

  /** Where it is may change while it is read; what was read stays the same. */
  constructor(file: () => string) {
    this.#file = file;
  }

  /** The events that came since the last time; a line that is still being written waits. */
  read(): RunEvent[] {
    const events: RunEvent[] = [];
    if (this.damaged !== undefined) return events;
    let fd: number;
    try {
      fd = openSync(this.#file(), "r");
    } catch {
      return events;
    }
    try {
      const { size } = fstatSync(fd);
      while (this.#offset < size && this.damaged === undefined) {
        const buffer = Buffer.allocUnsafe(Math.min(CHUNK, size - this.#offset));
        const length = readSync(fd, buffer, 0, buffer.length, this.#offset);
        const end = buffer.lastIndexOf(10, length - 1);
        if (end < 0) {
          if (length < CHUNK) break;
          this.damaged = "a line is longer than any that Segno writes";
          break;
        }
        this.#take(buffer.subarray(0, end + 1), events);
        this.#offset += end + 1;
      }
    } finally {
      closeSync(fd);
    }
    return events;
  }

  #take(lines: Buffer, events: RunEvent[]): void {
    for (const line of lines.toString("utf8").split("\n")) {
      if (line === "") continue;
      const decoded = decodeLine(line, this.#sum);
      if (decoded === undefined) {
        this.damaged = "a line is not what was written there";
        return;
      }
      if (decoded.event.v > EVENT_VERSION) {
        this.damaged = "a newer Segno wrote it";
        return;
      }
      this.#sum = decoded.sum;
      events.push(upcast(decoded.event));
    }
  }
}
