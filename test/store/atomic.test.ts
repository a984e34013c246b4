import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { writeWhole } from "../../src/store/atomic.js";
import { scratchFolder, whenOver } from "../support/scratch.js";

describe("a file that is written whole", () => {
  test("keeps its mode, whatever new files get, and leaves no draft", () => {
    const folder = scratchFolder();
    const file = join(folder, "PLAN.md");
    writeFileSync(file, "before");
    chmodSync(file, 0o664);
    writeWhole(file, "after");
    expect([readFileSync(file, "utf8"), statSync(file).mode & 0o777]).toEqual(["after", 0o664]);
    expect(readdirSync(folder)).toEqual(["PLAN.md"]);
  });

  test("a link stays a link", () => {
    const folder = scratchFolder();
    writeFileSync(join(folder, "real.md"), "before");
    symlinkSync("real.md", join(folder, "link.md"));
    writeWhole(join(folder, "link.md"), "after");
    expect(lstatSync(join(folder, "link.md")).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(folder, "real.md"), "utf8")).toBe("after");
  });

  const own = statSync(tmpdir()).dev;
  const other = ["/dev/shm", "/var/tmp"].find((place) => existsSync(place) && statSync(place).dev !== own);
  test.skipIf(other === undefined)("where the draft would be on another file system it is made beside the file", () => {
    const elsewhere = mkdtempSync(`${other}/segno-test-`);
    whenOver(() => rmSync(elsewhere, { recursive: true, force: true }));
    const file = join(scratchFolder(), "PLAN.md");
    writeFileSync(file, "before");
    expect(statSync(elsewhere).dev).not.toBe(statSync(file).dev);
    writeWhole(file, "after", { draftIn: elsewhere });
    expect(readFileSync(file, "utf8")).toBe("after");
    expect(readdirSync(elsewhere)).toEqual([]);
  });

  test("what cannot be written leaves what was there", () => {
    const folder = scratchFolder();
    const file = join(folder, "PLAN.md");
    writeFileSync(file, "before");
    expect(() => writeWhole(file, "after", { draftIn: join(folder, "missing") })).toThrow();
    expect(readFileSync(file, "utf8")).toBe("before");
  });
});
