import { describe, expect, test } from "vitest";
import { withoutSecret } from "../../src/cli/team.js";
import { isLineLost } from "../../src/store/postgres/database.js";
import { readTeamUrl } from "../../src/store/postgres/team-url.js";

describe("where a team's database is", () => {
  test("on this machine, nothing has to be encrypted", () => {
    for (const host of ["localhost", "127.0.0.1", "127.8.9.10", "[::1]"])
      expect(readTeamUrl(`postgres://anna@${host}/team`)).toMatchObject({
        ok: true,
        url: { port: 5432, database: "team", user: "anna", verified: false, ca: undefined },
      });
  });

  test("elsewhere the server must prove who it is", () => {
    expect(
      readTeamUrl("postgresql://anna@db.team.invalid:6543/team?sslmode=verify-full&sslrootcert=/etc/team.pem"),
    ).toEqual({
      ok: true,
      url: {
        host: "db.team.invalid",
        port: 6543,
        database: "team",
        user: "anna",
        verified: true,
        ca: "/etc/team.pem",
      },
    });
  });

  test.each([
    [undefined, "postgres://anna@db.team.invalid/team"],
    ["disable", "postgres://anna@db.team.invalid/team?sslmode=disable"],
    ["require", "postgres://anna@db.team.invalid/team?sslmode=require&sslrootcert=/etc/team.pem"],
    ["verify-ca", "postgres://anna@10.0.0.5/team?sslmode=verify-ca"],
    ["prefer", "postgres://anna@localhost/team?sslmode=prefer"],
    [undefined, "postgres://anna@localhost.team.invalid/team"],
    [undefined, "postgres://anna@127.0.0.1.team.invalid/team"],
  ])("%s is not enough: %s", (sslmode, text) => {
    expect(readTeamUrl(text)).toMatchObject({ ok: false, problem: { type: "unverified", sslmode } });
  });

  test.each([
    ["no-url", "db.team.invalid/team"],
    ["scheme", "mysql://anna@localhost/team"],
    ["password", "postgres://anna:secret@localhost/team"],
    ["password", "postgres://anna@localhost/team?password=secret"],
    ["incomplete", "postgres://localhost/team"],
    ["incomplete", "postgres://anna@localhost"],
    ["incomplete", "postgres://anna@localhost/"],
    ["unknown", "postgres://anna@localhost/team?ssl=no-verify"],
  ])("%s: %s", (type, text) => {
    const read = readTeamUrl(text);
    expect(read).toMatchObject({ ok: false, problem: { type } });
    expect(JSON.stringify(read)).not.toContain("secret");
  });
});

describe("the git remote", () => {
  const token = `ghp_${"aB3".repeat(12)}`;

  test.each([
    "/srv/app.git",
    "git@git.team.invalid:app.git",
    "ssh://git@git.team.invalid/app.git",
    "https://git.team.invalid/app.git",
    "https://anna@git.team.invalid/app.git",
  ])("%s holds nothing secret", async (url) => {
    expect(await withoutSecret(url)).toEqual({ ok: true, value: url });
  });

  test.each([`https://anna:${token}@git.team.invalid/app.git`, `https://${token}@git.team.invalid/app.git`])(
    "a URL with a password or a token is refused, and not repeated",
    async (url) => {
      const refused = await withoutSecret(url);
      expect(refused).toMatchObject({ ok: false, failure: { type: "usage" } });
      expect(JSON.stringify(refused)).not.toContain(token);
    },
  );
});

describe("the line to the database", () => {
  test.each(["EAI_AGAIN", "ECONNRESET", "57P03", "25006"])("%s passes", (code) => {
    expect(isLineLost(Object.assign(new Error("x"), { code }))).toBe(true);
  });

  test.each(["42501", "23505", "28P01"])("%s does not", (code) => {
    expect(isLineLost(Object.assign(new Error("x"), { code }))).toBe(false);
  });
});
