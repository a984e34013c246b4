/** Any agent that speaks the Agent Client Protocol: a command of the user's, known by nothing but what it says. */
import { basename } from "node:path";
import type { Agent, AgentCheck } from "../agent.js";
import { findProgram } from "../find-program.js";
import type { AgentChoice } from "../registry.js";
import { shortHash } from "../short-hash.js";
import { ACP, wordsIn } from "./command.js";

export function findAcp(name: string, { env }: AgentChoice): Agent {
  const words = wordsIn(name.slice(ACP.length)) ?? [];
  const [program = "", ...args] = words;
  const found = program.includes("/") ? program : findProgram(program, env);
  return acpAgent(name, found === undefined ? undefined : [found, ...args], program);
}

export function acpAgent(name: string, command: readonly string[] | undefined, program: string): Agent {
  const title = basename(program) || "the ACP agent";
  const missing: AgentCheck = {
    ok: false,
    problem: "missing",
    detail: program === "" ? "its command cannot be read" : `${program} is not installed`,
  };
  return {
    name,
    title,
    // What nobody has seen it do is not counted on.
    abilities: { stop: "cancel", usage: "never", compaction: "own", refuses: false, tells: false, resume: false },
    levels: {
      all: "everything that it asks for is allowed",
      listed: "what it asks for is refused; what it does without asking is a matter of its own settings",
    },
    sandboxes: false,
    homeVariable: "HOME",
    reads: ["AGENTS.md"],
    help: {
      install: `Install ${title}, or name another command: agent: { acp: "command args" }.`,
      login: `Log in with ${title}'s own command, or set the variable with its key.`,
    },
    isDraft: () => false,
    toolName: (tool) => tool,
    credit: (model) => `${title} (${model}) <noreply@${title.replaceAll(/[^\w.-]/g, "-")}.invalid>`,
    priceOf: () => undefined,
    account: (env) => shortHash([name, env.HOME ?? ""]),
    check: async (env, cwd) =>
      command === undefined ? missing : (await import("./check.js")).checkAcp(command, env, cwd),
    checkQuickly: async () => (command === undefined ? missing : { ok: true, account: "its own" }),
    canResume: async () => false,
    open: async (options) => (await import("./session.js")).openSession(options, command ?? [program]),
  };
}
