/** Who does what: the user's choices, nearest first. */
import { describe, expect, test } from "vitest";
import { type Config, configSchema } from "../../src/config/schema.js";
import { parsePlan } from "../../src/plan/parse.js";
import { agentsNamed, chosenFor } from "../../src/run/choosing.js";

const config = (values: Record<string, unknown>): Config => configSchema.parse(values);
const phase = (more: { agent?: string; model?: string } = {}) => ({ id: "2", title: "Write the parser", ...more });
const OWN = { agent: "claude", model: "sonnet" };

describe("who does what", () => {
  test("the run's own agent and model, where nothing else is said", () => {
    expect(chosenFor(config(OWN), phase(), "work")).toEqual(OWN);
  });

  test("by purpose: who judges need not be who wrote", () => {
    const some = config({ ...OWN, agents: { remediate: { model: "opus" }, verify: "codex" } });
    expect(chosenFor(some, phase(), "remediate")).toEqual({ agent: "claude", model: "opus" });
    // The model was named for another agent.
    expect(chosenFor(some, phase(), "verify")).toEqual({ agent: "codex", model: undefined });
    expect(chosenFor(some, phase({ agent: "opencode" }), "verify").agent).toBe("codex");
    expect(chosenFor(some, phase({ agent: "opencode" }), "remediate").agent).toBe("opencode");
  });

  test("by phase: the plan's word, then the first rule that fits", () => {
    const rules = [
      { title: "parser", agent: "opencode", model: "p/m" },
      { phases: [2, "3a"], agent: "codex" },
    ];
    const some = config({ ...OWN, agents: { work: "claude", rules } });
    expect(chosenFor(some, phase(), "work")).toEqual({ agent: "opencode", model: "p/m" });
    expect(chosenFor(some, { id: "3a", title: "x" }, "work")).toEqual({ agent: "codex", model: undefined });
    expect(chosenFor(some, { id: "4", title: "x" }, "work")).toEqual(OWN);
    expect(chosenFor(some, phase({ agent: "codex", model: "gpt-5" }), "work")).toEqual({
      agent: "codex",
      model: "gpt-5",
    });
    expect(chosenFor(some, phase({ model: "q/n" }), "work")).toEqual({ agent: "opencode", model: "q/n" });
  });

  test("one that may not work here is passed over", () => {
    const some = config({ ...OWN, agents: { verify: "opencode", rules: [{ phases: [2], agent: "codex" }] } });
    const but = (left: string) => (agent: string) => agent !== left;
    expect(chosenFor(some, phase(), "verify", but("opencode")).agent).toBe("codex");
    expect(chosenFor(some, phase(), "work", but("codex"))).toEqual(OWN);
  });

  test("everybody who is named is found", () => {
    const some = config({ ...OWN, agents: { merge: "a", rules: [{ phases: [1], agent: "b" }] } });
    const plan = { phases: [{ agent: "c" }, {}] } as Parameters<typeof agentsNamed>[1];
    expect(agentsNamed(some, plan)).toEqual(["claude", "a", "b", "c"]);
  });

  test.each([
    { agents: { rules: [{ agent: "codex" }] } },
    { agents: { rules: [{ phases: [1] }] } },
    { agents: { works: "codex" } },
  ])("what makes no sense is refused: %j", (values) => {
    expect(configSchema.safeParse(values).success).toBe(false);
  });
});

describe("a phase says in its own text who is to do it", () => {
  const read = (text: string) => {
    const source = `# P\n\n## Phase 1: One\n\n${text}\n\n- [ ] do it\n`;
    const { plan } = parsePlan("PLAN.md", (path) => (path === "PLAN.md" ? source : undefined), {});
    return { agent: plan?.phases[0]?.agent, model: plan?.phases[0]?.model };
  };

  test.each([
    ["**Agent:** codex", { agent: "codex", model: undefined }],
    ["**Agent**: `codex`\n**Model:** gpt-5", { agent: "codex", model: "gpt-5" }],
    ["- **Model:** anthropic/claude-opus-5-5", { agent: undefined, model: "anthropic/claude-opus-5-5" }],
    ["_Agent: opencode_", { agent: "opencode", model: undefined }],
    // Plans speak of other models, and of agents in prose.
    ["**Model:** Invoice", { agent: undefined, model: undefined }],
    ["**Agent:** the one that wrote phase 1 does this", { agent: undefined, model: undefined }],
  ])("%j", (text, who) => {
    expect(read(text)).toEqual(who);
  });
});
