/** Where a team's password may be, and where not. */
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { passwordIn, teamPassword } from "../../src/cli/team-password.js";
import { redactor } from "../../src/secrets/redact.js";
import type { TeamUrl } from "../../src/store/postgres/team-url.js";
import { scratchFolder } from "../support/scratch.js";

const URL: TeamUrl = { host: "db", port: 5432, database: "segno", user: "me", verified: true, ca: undefined };

describe("a team's password", () => {
  test.each([
    ["db:5432:segno:me:one", "one"],
    ["# db:5432:segno:me:no\n*:*:*:me:two\n", "two"],
    ["other:5432:segno:me:no\ndb:*:*:*:th\\:ree\\\\", "th:ree\\"],
    ["db:5433:segno:me:no", undefined],
    ["", undefined],
  ])("in ~/.pgpass: %j", (text, found) => {
    expect(passwordIn(text, URL)).toBe(found);
  });

  test("from a file that others can read: refused, with what to do", async () => {
    const file = join(scratchFolder(), "password");
    writeFileSync(file, "hidden\n");
    chmodSync(file, 0o644);
    const open = await teamPassword(URL, file, false);
    expect(open.ok ? "" : open.failure).toMatchObject({ type: "usage", fix: `chmod 600 ${file}` });
    chmodSync(file, 0o600);
    expect(await teamPassword(URL, file, false)).toEqual({ ok: true, value: "hidden" });
  });

  test("is taken out of whatever is written, however short", () => {
    expect(redactor({}, ["hidden"])("it is hidden here")).toBe("it is [redacted] here");
    // A word of two letters would take every text apart.
    expect(redactor({}, ["is"])("it is so")).toBe("it is so");
  });
});
