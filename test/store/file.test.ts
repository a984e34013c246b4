import {
  appendFileSync,
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Fact } from "../../src/run/event.js";
import { redactor } from "../../src/secrets/redact.js";
import { FileStore } from "../../src/store/file.js";
import type { JournalRead, Moved } from "../../src/store/store.js";
import { scratchFolder } from "../support/scratch.js";

const RUN = "r";
const lease = { epoch: 1, redact: redactor({}) };
const warned = (n: number): Fact => ({ type: "warned", message: `warning ${n} — “ümläut”\n` });
const newStore = (): FileStore => new FileStore(scratchFolder(), () => new Date(0));

async function written(count: number): Promise<FileStore> {
  const store = newStore();
  const journal = await store.create(RUN, lease);
  for (let n = 0; n < count; n++) journal.append([warned(n)]);
  await journal.close();
  return store;
}

async function readable(store: FileStore): Promise<Extract<JournalRead, { ok: true }>> {
  const read = await store.read(RUN);
  if (!read.ok) throw new Error(read.why);
  return read;
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
  test("a torn end is cut, and the next event follows on the last whole one", async () => {
    const store = await written(4);
    appendFileSync(store.where(RUN), '{"v":1,"seq":5,"at":"19');
    const read = await readable(store);
    expect([read.events.length, read.torn]).toEqual([4, 23]);
    const journal = await store.open(RUN, lease, read);
    journal.append([warned(4)]);
    await journal.close();
    const again = await readable(store);
    expect([again.events.length, again.torn]).toEqual([5, 0]);
  });

  test("a write that fails goes on in another place, where it is found; what was there stays sound", async () => {
    const store = newStore();
    const journal = await store.create(RUN, lease);
    const moved: Moved[] = [];
    journal.onMoved((how) => moved.push(how));
    const ref = journal.putBlob("a body");
    journal.append([warned(0)]);
    await journal.flush();
    const first = store.where(RUN);
    // A descriptor that is gone fails like a disk that is full: in the middle of the journal's life.
    for (const fd of openDescriptors(first)) closeSync(fd);
    journal.append([warned(1)]);
    await journal.close();
    expect(moved).toEqual([{ why: expect.stringContaining("EBADF"), where: dirname(store.where(RUN)) }]);
    expect(store.where(RUN)).not.toBe(first);
    expect((await readable(store)).events).toHaveLength(2);
    expect(await store.getBlob(RUN, ref)).toBe("a body");
    expect(await store.list()).toEqual([RUN]);
    expect(readFileSync(first, "utf8").trim().split("\n")).toHaveLength(1);
  });

  test("where nothing can be written anywhere, nothing more is taken", async () => {
    const top = scratchFolder();
    const home = process.env.HOME;
    process.env.HOME = join(top, "not-a-folder");
    writeFileSync(process.env.HOME, "");
    try {
      const store = new FileStore(top, () => new Date(0));
      const journal = await store.create(RUN, lease);
      journal.append([warned(0)]);
      await journal.flush();
      const held = openDescriptors(store.where(RUN));
      for (const fd of held) closeSync(fd);
      expect(() => journal.append([warned(1)])).toThrow();
      // The disk has room again, so to speak: the same descriptor works. What failed in between would be missing.
      expect(held).toEqual([openSync(store.where(RUN), "a")]);
      expect(() => journal.append([warned(1)])).toThrow();
      await expect(journal.submit([warned(1)], () => {})).rejects.toThrow();
      for (const fd of held) closeSync(fd);
      const read = await readable(store);
      expect([read.events.length, read.torn]).toEqual([1, 0]);
    } finally {
      process.env.HOME = home;
    }
  });

  test("a folder that is deleted under it is made again, with all that was written, its locks and its address", async () => {
    const store = newStore();
    const locked = await store.lock(RUN);
    const journal = await store.create(RUN, lease);
    await store.setAddress(RUN, { url: "http://127.0.0.1:1", token: "t", pid: process.pid, run: RUN });
    const moved: Moved[] = [];
    journal.onMoved((how) => moved.push(how));
    const ref = journal.putBlob("a body");
    journal.append([warned(0)]);
    await journal.flush();
    const where = store.where(RUN);
    rmSync(dirname(dirname(dirname(where))), { recursive: true });
    await journal.submit([warned(1)], () => {});
    expect(moved).toEqual([{ why: "it was deleted", where: dirname(where) }]);
    expect(store.where(RUN)).toBe(where);
    expect((await readable(store)).events).toHaveLength(2);
    expect(await store.getBlob(RUN, ref)).toBe("a body");
    expect((await store.holder(RUN))?.pid).toBe(process.pid);
    expect((await store.checkoutHolder())?.run).toBe(RUN);
    expect((await store.address(RUN))?.token).toBe("t");
    await journal.close();
    if (locked.ok) locked.lock.release();
    expect(await store.holder(RUN)).toBeUndefined();
  });

  test("an event of a newer version is refused, with its line", async () => {
    const store = newStore();
    const journal = await store.create(RUN, lease);
    journal.append([warned(0), { ...warned(1), v: 99 } as unknown as Fact, warned(2)]);
    await journal.close();
    expect(await store.read(RUN)).toMatchObject({ ok: false, line: 2, why: expect.stringContaining("version 99") });
    const seen: number[] = [];
    (await store.watch(RUN, (events) => seen.push(...events.map(({ seq }) => seq)))).stop();
    expect(seen).toEqual([1]);
  });

  test("whatever bytes are flipped or lost, it reads a true prefix or names the damaged line", async () => {
    const store = await written(12);
    const path = store.where(RUN);
    const whole = readFileSync(path);
    const truth = await readable(store);
    await fc.assert(
      fc.asyncProperty(
        fc.nat(whole.length - 1),
        fc.integer({ min: 1, max: 255 }),
        fc.nat(40),
        fc.boolean(),
        async (at, flip, length, cut) => {
          const damaged = cut
            ? Buffer.concat([whole.subarray(0, at), whole.subarray(at + length + 1)])
            : Buffer.from(whole);
          if (!cut) damaged[at] = (damaged[at] as number) ^ flip;
          writeFileSync(path, damaged);
          const read = await store.read(RUN);
          expect(read.events).toEqual(truth.events.slice(0, read.events.length));
          if (!read.ok) expect(read.line).toBe(read.events.length + 1);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

describe("a blob's file", () => {
  test("cut at every byte, or with any bit of any byte flipped, it is refused", async () => {
    const store = newStore();
    const journal = await store.create(RUN, lease);
    const ref = journal.putBlob('{"goal":"src/ä.ts"}');
    await journal.close();
    const file = join(dirname(store.where(RUN)), "blobs", ref.slice("sha256:".length));
    const bytes = readFileSync(file);
    for (let length = 0; length < bytes.length; length++) {
      writeFileSync(file, bytes.subarray(0, length));
      expect(await store.getBlob(RUN, ref)).toBeUndefined();
    }
    for (let at = 0; at < bytes.length; at++) {
      for (let bit = 0; bit < 8; bit++) {
        const damaged = Buffer.from(bytes);
        damaged[at] = (damaged[at] ?? 0) ^ (1 << bit);
        writeFileSync(file, damaged);
        expect(await store.getBlob(RUN, ref)).toBeUndefined();
      }
    }
    writeFileSync(file, bytes);
    expect(await store.getBlob(RUN, ref)).toBe('{"goal":"src/ä.ts"}');
  });
});
