import { describe, expect, test } from "vitest";
import { loadConfig } from "../../src/config/load.js";

const file = (source: string) => ({ name: "file" as const, source });

describe("configuration", () => {
  test("flags win over the environment, that over the file, that over defaults; each value says where it is from", () => {
    const loaded = loadConfig([
      file("context_threshold: 60\nmax_restarts: 5\nmodel: a\n"),
      { name: "environment", values: { context_threshold: 65, model: "b" } },
      { name: "flag", values: { context_threshold: 70, max_restarts: undefined } },
    ]);
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
    expect(loaded.config).toMatchObject({
      context_threshold: 70,
      max_restarts: 5,
      model: "b",
      auto_commit: true,
      commit_on_failure: false,
    });
    expect(loaded.sources).toMatchObject({
      context_threshold: "flag",
      max_restarts: "file",
      model: "environment",
      auto_commit: "default",
    });
  });

  test.each([
    ["context_threshold: 0", 1, 1, /context_threshold.*>=1/],
    ["context_threshold: 101", 1, 1, /<=100/],
    ["# a comment\nmax_restarts: -1", 2, 1, /max_restarts.*>=0/],
    ["max_restarts: three", 1, 1, /expected number/],
    ["auto_commit: maybe", 1, 1, /expected boolean/],
    ["model: x\n  bad: indent", 1, 8, /not valid YAML/],
    ["a: 1\na: 2", 2, 1, /not valid YAML/],
    ["- just\n- a list", 1, 1, /key: value/],
    ["permission_mode: yolo", 1, 1, /permission_mode/],
    ["commit_message_template: '{phase}'", 1, 1, /placeholders/],
  ])("%j is a problem at its line and column", (source, line, column, says) => {
    const loaded = loadConfig([file(source)]);
    expect(loaded).toMatchObject({
      ok: false,
      problems: [{ layer: "file", line, column, message: expect.stringMatching(says) }],
    });
  });

  test("an unknown key is an error with a suggestion, or the list of keys", () => {
    const near = loadConfig([file("auto_comit: true")]);
    expect(near).toMatchObject({
      ok: false,
      problems: [{ message: "There is no key `auto_comit`.", fix: "Did you mean `auto_commit`?" }],
    });
    const far = loadConfig([file("zzzzzz: 1")]);
    expect(far).toMatchObject({ ok: false, problems: [{ fix: expect.stringContaining("context_threshold") }] });
  });

  test("context_restart_threshold is the threshold's other name, as a ratio; the stronger layer wins, two in one layer are an error", () => {
    const load = (file: string, flags: Record<string, unknown> = {}) =>
      loadConfig([
        { name: "file", source: file },
        { name: "flag", values: flags },
      ]);
    const alias = load("context_restart_threshold: 0.7\n");
    expect(alias.ok && [alias.config.context_threshold, alias.sources.context_threshold]).toEqual([70, "file"]);
    const flag = load("context_restart_threshold: 0.7\n", { context_threshold: 60 });
    expect(flag.ok && flag.config.context_threshold).toBe(60);
    const both = load("context_restart_threshold: 0.7\ncontext_threshold: 60\n");
    expect(both.ok ? "" : both.problems[0]?.message).toContain("both set");
  });

  test("context_soft is a percentage or auto; prompt_budget tokens or a percentage", () => {
    const load = (source: string) => loadConfig([{ name: "file", source }]);
    expect(load("context_soft: auto\nprompt_budget: 5%\ncontext_warn: [50, 60]\n").ok).toBe(true);
    expect(load("context_soft: sometimes\n").ok).toBe(false);
    expect(load("prompt_budget: a lot\n").ok).toBe(false);
  });
});
