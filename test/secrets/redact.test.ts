import { describe, expect, test } from "vitest";
import { redactDeep, redactor } from "../../src/secrets/redact.js";

const SECRETS: [string, string][] = [
  ["an AWS key", `AKIA${"ABCDEFGH".repeat(2)}`],
  ["a GitHub token", `ghp_${"a1B2c3".repeat(6)}`],
  ["an Anthropic key", `sk-ant-${"a1B2".repeat(8)}`],
  ["a password in an address", "postgres://me:correct-horse-battery@db.team.invalid/x"],
  ["a login's token", `eyJ${"a".repeat(20)}.eyJ${"b".repeat(20)}.${"c".repeat(20)}`],
  ["a value of a variable, with what JSON escapes", 'correct"horse\\battery\nstaple'],
];
const redact = redactor({ MY_SECRET: 'correct"horse\\battery\nstaple' });

describe.each(SECRETS)("%s is found", (_, secret) => {
  test.each([
    ["alone", ""],
    ["behind a new line", "x\n"],
    ["behind a tab", "x\t"],
    ["behind a quote", 'x"'],
  ])("%s", (_where, before) => {
    const { clean, json } = redactDeep({ deep: [{ text: `${before}${secret} after` }] }, redact);
    expect(clean.deep[0]?.text).not.toContain(secret);
    expect(clean.deep[0]?.text).toContain("[redacted]");
    expect(JSON.parse(json)).toEqual(clean);
  });
});

test("where there is none, it is the same object", () => {
  const value = { text: "two\nlines", n: 1 };
  expect(redactDeep(value, redact)).toEqual({ clean: value, json: JSON.stringify(value) });
  expect(redactDeep(value, redact).clean).toBe(value);
});
