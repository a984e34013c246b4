import { appendFileSync, closeSync, openSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Fact } from "../../src/run/event.js";
import { createJournal, journalPath, openJournal, readBlob, readJournal } from "../../src/store/file.js";
import { redactor } from "../../src/store/redact.js";
import { scratchFolder } from "../support/scratch.js";

const options = { epoch: 1, redact: redactor({}), now: () => new Date(0) };
const warned = (n: number): Fact => ({ type: "warned", message: `warning ${n} — “ümläut”\n` });

function written(count: number): string {
  const folder = scratchFolder();
  const journal = createJournal(folder, options);
  for (let n = 0; n < count; n++) journal.append(n, [warned(n)], { durable: n % 3 === 0 });
  journal.close();
  return folder;
}

/** This process's descriptors of a file. */
const openDescriptors = (path: string): number[] =>
  readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === path ? [Number(fd)] : [];
    } catch {
      return [];
    }
  });

describe("the journal file", () => {
  test("gives back what was appended, and goes on after it", () => {
    const folder = written(5);
    const read = readJournal(folder);
    if (!read.ok) throw new Error(read.why);
    expect(read.events.map((event) => event.seq)).toEqual([1, 2, 3, 4, 5]);
    const journal = openJournal(folder, { ...options, epoch: 2 }, read);
    journal.append(5, [warned(5)], { durable: true });
    journal.close();
    const again = readJournal(folder);
    expect(again.ok && again.events.map((event) => event.epoch)).toEqual([1, 1, 1, 1, 1, 2]);
  });

  test("refuses an append that does not follow the last event", () => {
    const journal = createJournal(scratchFolder(), options);
    expect(journal.append(1, [warned(0)], { durable: true })).toEqual({ ok: false, conflict: true });
    expect(journal.append(0, [warned(0), warned(1)], { durable: true }).ok).toBe(true);
    expect(journal.append(1, [warned(2)], { durable: true }).ok).toBe(false);
    journal.close();
  });

  test("a torn end is cut, and the next event follows on the last whole one", () => {
    const folder = written(4);
    appendFileSync(journalPath(folder), '{"v":1,"seq":5,"at":"19');
    const read = readJournal(folder);
    if (!read.ok) throw new Error(read.why);
    expect([read.events.length, read.torn]).toEqual([4, 23]);
    const journal = openJournal(folder, options, read);
    journal.append(4, [warned(4)], { durable: true });
    journal.close();
    const again = readJournal(folder);
    expect(again.ok && [again.events.length, again.torn]).toEqual([5, 0]);
  });

  test("after a write that failed nothing more is taken, and what was there stays sound", () => {
    const folder = scratchFolder();
    const journal = createJournal(folder, options);
    journal.append(0, [warned(0)], { durable: true });
    // A descriptor that is gone fails like a disk that is full: in the middle of the journal's life.
    const held = openDescriptors(journalPath(folder));
    for (const fd of held) closeSync(fd);
    expect(() => journal.append(1, [warned(1)], { durable: true })).toThrow();
    // The disk has room again, so to speak: the same descriptor works. What failed in between would be missing.
    expect(held).toEqual([openSync(journalPath(folder), "a")]);
    expect(() => journal.append(1, [warned(1)], { durable: true })).toThrow();
    for (const fd of held) closeSync(fd);
    const read = readJournal(folder);
    expect(read.ok && [read.events.length, read.torn]).toEqual([1, 0]);
  });

  test("an event of a newer version is refused, with its line", () => {
    const folder = scratchFolder();
    const journal = createJournal(folder, options);
    journal.append(0, [warned(0), { ...warned(1), v: 99 } as unknown as Fact, warned(2)], { durable: true });
    journal.close();
    expect(readJournal(folder)).toMatchObject({ ok: false, line: 2, why: expect.stringContaining("version 99") });
  });

  test("whatever bytes are flipped or lost, it reads a true prefix or names the damaged line", () => {
    const folder = written(12);
    const path = journalPath(folder);
    const whole = readFileSync(path);
    const truth = readJournal(folder);
    if (!truth.ok) throw new Error(truth.why);
    fc.assert(
      fc.property(
        fc.nat(whole.length - 1),
        fc.integer({ min: 1, max: 255 }),
        fc.nat(40),
        fc.boolean(),
        (at, flip, length, cut) => {
          const damaged = cut
            ? Buffer.concat([whole.subarray(0, at), whole.subarray(at + length + 1)])
            : Buffer.from(whole);
          if (!cut) damaged[at] = (damaged[at] as number) ^ flip;
          writeFileSync(path, damaged);
          const read = readJournal(folder);
          expect(read.events).toEqual(truth.events.slice(0, read.events.length));
          if (!read.ok) expect(read.line).toBe(read.events.length + 1);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

describe("blobs and redaction", () => {
  test("a blob is named by its content and checked when it is read", () => {
    const folder = scratchFolder();
    const journal = createJournal(folder, options);
    const ref = journal.putBlob("hello");
    expect(journal.putBlob("hello")).toBe(ref);
    expect(journal.getBlob(ref)).toBe("hello");
    writeFileSync(`${folder}/blobs/${ref.slice(7)}`, "tampered");
    expect(readBlob(folder, ref)).toBeUndefined();
    expect(readBlob(folder, "sha256:../../etc/passwd")).toBeUndefined();
    journal.close();
  });

  test("secrets never reach the disk: known forms, and values of secret-looking variables", () => {
    const folder = scratchFolder();
    const secret = "correct-horse-battery-staple";
    const journal = createJournal(folder, {
      ...options,
      redact: redactor({ MY_API_KEY: secret, PATH: "/usr/bin/and/some/more" }),
    });
    const key = `sk-ant-${"a1B2".repeat(8)}`;
    journal.append(0, [{ type: "warned", message: `token ${secret} and ${key} in /usr/bin/and/some/more` }], {
      durable: true,
    });
    const blob = journal.getBlob(journal.putBlob(`x ${secret}`));
    journal.close();
    const text = readFileSync(journalPath(folder), "utf8");
    expect(text).not.toContain(secret);
    expect(text).not.toContain(key);
    expect(text).toContain("/usr/bin/and/some/more");
    expect(blob).toBe("x [redacted]");
  });
});
