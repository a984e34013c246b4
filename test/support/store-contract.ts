/** What every store must do. */
import { describe, expect, test } from "vitest";
import { NOTHING_LEARNED } from "../../src/context/forecast.js";
import type { Fact, RunEvent } from "../../src/run/event.js";
import { redactor } from "../../src/secrets/redact.js";
import type { Journal, Store } from "../../src/store/store.js";

export const RUN = "20260101-000000-abcd";
export const lease = { epoch: 1, redact: redactor({ MY_API_KEY: "correct-horse-battery-staple" }) };
export const warned = (n: number): Fact => ({ type: "warned", message: `warning ${n} — “ümläut”\n` });
export const numbers = (events: readonly RunEvent[]): number[] => events.map(({ seq }) => seq);

/** `now`: the clock that stamps. */
export type MakeStore = (now?: () => Date) => Store | Promise<Store>;

export async function eventsIn(store: Store, run = RUN): Promise<RunEvent[]> {
  const read = await store.read(run);
  if (!read.ok) throw new Error(read.why);
  return read.events;
}

export async function opened(store: Store, epoch: number): Promise<Journal> {
  const read = await store.read(RUN);
  if (!read.ok) throw new Error(read.why);
  return store.open(RUN, { ...lease, epoch }, read);
}

export const storeContract = (name: string, make: MakeStore): unknown =>
  describe(`the store contract: ${name}`, () => {
    test("gives back what was appended, numbered without gaps, and goes on after it", async () => {
      const store = await make();
      const first = await store.create(RUN, lease);
      const folded = [...first.append([warned(1)]), ...first.append([warned(2), warned(3)])];
      expect(numbers(folded)).toEqual([1, 2, 3]);
      await first.close();
      const second = await opened(store, 2);
      second.append([warned(4)]);
      await second.flush();
      const events = await eventsIn(store);
      expect(numbers(events)).toEqual([1, 2, 3, 4]);
      expect(events.map(({ epoch }) => epoch)).toEqual([1, 1, 1, 2]);
      expect(events.map((event) => event.type === "warned" && event.message)).toEqual(
        [1, 2, 3, 4].map((n) => `warning ${n} — “ümläut”\n`),
      );
      await second.close();
    });

    test("a closed journal takes nothing more", async () => {
      const store = await make();
      const journal = await store.create(RUN, lease);
      journal.append([warned(1)]);
      await journal.close();
      expect(() => journal.append([warned(2)])).toThrow("closed");
      await expect(journal.submit([warned(2)], () => {})).rejects.toThrow("closed");
      expect(numbers(await eventsIn(store))).toEqual([1]);
    });

    test("what is appended later never overtakes; a submitted fact is taken in its place and stamped", async () => {
      const store = await make();
      const journal = await store.create(RUN, lease);
      const taken: RunEvent[] = [];
      journal.append([warned(1)]);
      const submitted = journal.submit([warned(2)], (events) => taken.push(...events));
      journal.append([warned(3)]);
      expect(await submitted).toEqual({ ok: true });
      await journal.flush();
      expect(taken).toEqual((await eventsIn(store)).filter(({ seq }) => seq === 2));
      expect(taken[0]?.provisional).toBeUndefined();
      expect((await eventsIn(store)).map((event) => event.type === "warned" && event.message.slice(0, 9))).toEqual([
        "warning 1",
        "warning 2",
        "warning 3",
      ]);
      await journal.close();
    });

    test("a decision is appended only if nothing came since; all of it or nothing", async () => {
      const store = await make();
      const journal = await store.create(RUN, lease);
      const none = () => expect.unreachable("it was refused");
      expect(await journal.submit([warned(1)], none, { after: 1 })).toEqual({ ok: false });
      expect(await journal.submit([warned(1), warned(2)], () => {}, { after: 0 })).toEqual({ ok: true });
      expect(await journal.submit([warned(3)], none, { after: 1 })).toEqual({ ok: false });
      expect(numbers(await eventsIn(store))).toEqual([1, 2]);
      await journal.close();
    });

    test("the store stamps the time, and never earlier than the event before", async () => {
      const clock = ["2026-01-01T00:00:02.000Z", "2026-01-01T00:00:01.000Z", "2026-01-01T00:00:03.000Z"];
      let n = 0;
      const store = await make(() => new Date(clock[Math.min(n++, 2)] as string));
      const journal = await store.create(RUN, lease);
      for (let count = 0; count < 3; count++) await journal.submit([warned(count)], () => {});
      const times = (await eventsIn(store)).map(({ at }) => at);
      expect(times).toEqual(times.toSorted());
      expect(times[0]).toBe(clock[0]);
      await journal.close();
    });

    test("whoever watches gets what was there and what comes, in order, once", async () => {
      const store = await make();
      const journal = await store.create(RUN, lease);
      journal.append([warned(1)]);
      await journal.flush();
      const seen: RunEvent[] = [];
      const watching = await store.watch(RUN, (events) => seen.push(...events));
      journal.append([warned(2)]);
      await journal.submit([warned(3)], () => {});
      await expect.poll(() => numbers(seen)).toEqual([1, 2, 3]);
      watching.stop();
      journal.append([warned(4)]);
      await journal.close();
      expect(numbers(seen)).toEqual([1, 2, 3]);
    });

    test("somebody who looks and fails does not keep the run from being written", async () => {
      const store = await make();
      const journal = await store.create(RUN, lease);
      await store.watch(RUN, () => {
        throw new Error("a screen that fails");
      });
      journal.append([warned(1)]);
      await journal.submit([warned(2)], () => {});
      expect(numbers(await eventsIn(store))).toEqual([1, 2]);
      await journal.close();
    });

    test("runs are listed newest first, change their version when they change, and are gone when removed", async () => {
      const store = await make();
      for (const run of ["20260101-000000-aaaa", "20260102-000000-aaaa"]) {
        const journal = await store.create(run, lease);
        journal.append([warned(1)]);
        await journal.close();
      }
      expect(await store.list()).toEqual(["20260102-000000-aaaa", "20260101-000000-aaaa"]);
      const before = await store.version("20260101-000000-aaaa");
      expect(await store.version("20260101-000000-aaaa")).toBe(before);
      const read = await store.read("20260101-000000-aaaa");
      if (!read.ok) throw new Error(read.why);
      const journal = await store.open("20260101-000000-aaaa", lease, read);
      journal.append([warned(2)]);
      await journal.close();
      expect(await store.version("20260101-000000-aaaa")).not.toBe(before);
      await store.remove("20260101-000000-aaaa");
      expect(await store.list()).toEqual(["20260102-000000-aaaa"]);
      expect((await store.read("20260101-000000-aaaa")).ok).toBe(false);
    });

    test("one holder at a time, until it lets go", async () => {
      const store = await make();
      const first = await store.lock(RUN);
      if (!first.ok) throw new Error("nobody holds it");
      expect(await store.holder(RUN)).toMatchObject({ run: RUN, pid: process.pid });
      expect(await store.lock(RUN)).toMatchObject({ ok: false, what: "run", holder: { run: RUN } });
      first.lock.release();
      expect(await store.holder(RUN)).toBeUndefined();
      expect((await store.lock(RUN)).ok).toBe(true);
    });

    test("blobs are named by their content and read back by any reader", async () => {
      const store = await make();
      const journal = await store.create(RUN, lease);
      const ref = journal.putBlob("hello");
      expect(journal.putBlob("hello")).toBe(ref);
      await journal.flush();
      expect(await journal.getBlob(ref)).toBe("hello");
      expect(await store.getBlob(RUN, ref)).toBe("hello");
      expect(await store.getBlob(RUN, "sha256:../../etc/passwd")).toBeUndefined();
      await journal.close();
    });

    test("secrets never reach it: known forms, and values of secret-looking variables", async () => {
      const store = await make();
      const journal = await store.create(RUN, lease);
      const key = `sk-ant-${"a1B2".repeat(8)}`;
      journal.append([{ type: "warned", message: `correct-horse-battery-staple and ${key} in /usr/bin` }]);
      const blob = journal.putBlob("x correct-horse-battery-staple");
      await journal.close();
      expect(await eventsIn(store)).toMatchObject([{ message: "[redacted] and [redacted] in /usr/bin" }]);
      expect(await store.getBlob(RUN, blob)).toBe("x [redacted]");
    });

    test("what was learned and where the holder is are kept", async () => {
      const store = await make();
      expect(await store.learned("claude")).toEqual(NOTHING_LEARNED);
      await store.learn("claude", { firstPrompts: [1], samples: [] });
      await store.learn("claude", { firstPrompts: [2], samples: [] });
      expect((await store.learned("claude")).firstPrompts).toEqual([1, 2]);
      expect(await store.learned("other")).toEqual(NOTHING_LEARNED);
      const address = { url: "http://127.0.0.1:1", token: "t", pid: 1, run: RUN };
      expect(await store.address(RUN)).toBeUndefined();
      await store.setAddress(RUN, address);
      expect(await store.address(RUN)).toEqual(address);
      await store.setAddress(RUN, undefined);
      expect(await store.address(RUN)).toBeUndefined();
    });
  });

/** Of stores in which others write, too. */
export const sharedStoreContract = (name: string, make: MakeStore): unknown =>
  describe(`a store in which others write, too: ${name}`, () => {
    test("a decision that somebody overtook is refused, after what they wrote was handed over", async () => {
      const store = await make();
      const mine = await store.create(RUN, lease);
      const seen: RunEvent[] = [];
      mine.onOthers((events) => seen.push(...events));
      mine.append([warned(1)]);
      await mine.flush();
      const theirs = await opened(store, 1);
      theirs.append([warned(2)]);
      await theirs.flush();
      const refused = await mine.submit([warned(3)], () => expect.unreachable("it was overtaken"), { after: 1 });
      expect(refused).toEqual({ ok: false });
      expect(numbers(seen)).toEqual([2]);
      expect(await mine.submit([warned(3)], () => {}, { after: 2 })).toEqual({ ok: true });
      expect(numbers(await eventsIn(store))).toEqual([1, 2, 3]);
    });
  });
