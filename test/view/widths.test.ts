import stringWidth from "string-width";
import { describe, expect, test } from "vitest";
import { cut } from "../../src/tui/parts.js";
import { table } from "../../src/view/table.js";
import { width } from "../../src/view/width.js";

const TEXTS = [
  "plain text",
  "日本語のタイトル",
  "👩‍👩‍👧‍👦 family",
  "e\u0301cole",
  "mixed 漢字 and words",
  "tab\tand\nline",
  "",
];

describe("what is shown on a terminal is as wide as it says", () => {
  test.each(TEXTS)("cut or filled to exactly as many columns: %s", (text) => {
    for (let width = 0; width <= 24; width++) expect(stringWidth(cut(text, width))).toBe(width);
  });

  test("every single character is as wide as the library says, those that need no library, too", () => {
    const wrong: string[] = [];
    for (let code = 0x20; code < 0x3100; code++) {
      const character = String.fromCodePoint(code);
      if (width(character) !== stringWidth(character)) wrong.push(code.toString(16));
    }
    expect(wrong).toEqual([]);
  });

  test("no character is cut in half", () => {
    expect(cut("日本語", 4)).toBe("日… ");
    expect(cut("日本語", 5)).toBe("日本…");
    expect(cut("👩‍👩‍👧‍👦 family", 4)).toBe("👩‍👩‍👧‍👦 …");
  });

  test("columns of a table line up", () => {
    const lines = table(
      ["phase", "state"],
      TEXTS.slice(0, 5).map((text) => [text, "done"]),
    ).split("\n");
    const at = new Set(lines.slice(1).map((line) => stringWidth(line.slice(0, line.indexOf("done")))));
    expect(at.size).toBe(1);
  });
});
