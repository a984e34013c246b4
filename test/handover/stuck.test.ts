import { describe, expect, test } from "vitest";
import { StuckWatch, type ToolTrace } from "../../src/handover/stuck.js";

const limits = { stuck_repeats: 4, stuck_errors: 3 };
const trace = (more: Partial<ToolTrace> = {}): ToolTrace => ({
  tool: "Bash",
  brief: "npm test",
  ok: true,
  call: "c",
  result: "r",
  ...more,
});
const feed = (watch: StuckWatch, traces: ToolTrace[]) => traces.map((each) => watch.take(each)?.kind);

describe("going round in circles", () => {
  test("the same call with the same result four times", () => {
    expect(feed(new StuckWatch(limits), [trace(), trace(), trace(), trace()])).toEqual([
      undefined,
      undefined,
      undefined,
      "repeated-call",
    ]);
    expect(feed(new StuckWatch(limits), [trace(), trace(), trace({ result: "other" }), trace()])).not.toContain(
      "repeated-call",
    );
  });

  test("the same error three times, whatever the call", () => {
    const failing = (call: string) => trace({ ok: false, call, result: "same error" });
    expect(feed(new StuckWatch(limits), [failing("a"), failing("b"), failing("c")])).toEqual([
      undefined,
      undefined,
      "repeated-error",
    ]);
  });

  test("edits that undo each other", () => {
    const edit = (to: string) => trace({ tool: "Edit", call: to, edit: { file: "a.ts", to } });
    expect(feed(new StuckWatch(limits), [edit("x"), edit("y"), edit("x"), edit("y")]).at(-1)).toBe("alternating-edits");
    expect(feed(new StuckWatch(limits), [edit("x"), edit("y"), edit("z"), edit("y"), edit("w")])).not.toContain(
      "alternating-edits",
    );
  });

  test("an edit or a report in between starts anew: testing the same way after each change is healthy", () => {
    const watch = new StuckWatch(limits);
    const edit = (to: string) => trace({ tool: "Edit", call: to, edit: { file: "a.ts", to } });
    const rounds = Array.from({ length: 20 }, (_, n) => [
      trace(),
      trace({ ok: false, result: "e" }),
      edit(String(n)),
    ]).flat();
    expect(feed(watch, rounds).filter((kind) => kind !== undefined)).toEqual([]);
    const reported = new StuckWatch(limits);
    for (let n = 0; n < 10; n++) {
      expect(feed(reported, [trace(), trace(), trace()])).toEqual([undefined, undefined, undefined]);
      reported.progressed();
    }
  });

  test("0 switches each off", () => {
    const off = new StuckWatch({ stuck_repeats: 0, stuck_errors: 0 });
    expect(
      feed(
        off,
        Array.from({ length: 30 }, () => trace({ ok: false })),
      ).filter(Boolean),
    ).toEqual([]);
  });
});
