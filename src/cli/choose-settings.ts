/** What `init` writes down: who works, what they may do, what judges them; asked at a terminal, else as it usually is. */
import { AGENTS, agentNames } from "../agents/registry.js";
import type { SetKey } from "../config/document.js";
import { asCommand, checksOf } from "../engine/found-gates.js";
import { planFiles } from "../engine/plan-files.js";
import type { FoundCheck } from "../gates/found/check.js";
import { parsePlan } from "../plan/parse.js";
import { askChoice } from "./ask.js";
import { askWhich } from "./choose-checks.js";
import { MODES } from "./permission.js";

export interface Choices {
  keys: SetKey[];
  gates: FoundCheck[];
}

interface Asked {
  agent: string | undefined;
  mode: string | undefined;
  gates: boolean;
  asks: boolean;
}

/** Undefined where somebody ended a question. `plan`: the one that is there. */
export async function chooseSettings(
  top: string,
  plan: string | undefined,
  asked: Asked,
): Promise<Choices | undefined> {
  const { asks } = asked;
  const agent = asked.agent ?? (asks ? await askAgent() : DEFAULT_AGENT);
  if (agent === undefined) return undefined;
  const question = "What may the agent do without asking? Nobody will be there to answer it.";
  const mode = asked.mode ?? (asks ? await askChoice(question, MODES) : undefined);
  if (mode === undefined && asks) return undefined;
  const { read } = planFiles(top);
  const checks = asked.gates ? checksOf(read, "", plan === undefined ? undefined : parsePlan(plan, read).plan) : [];
  const gates = asks ? await askWhich(checks) : checks.filter(({ safe }) => safe);
  if (gates === undefined) return undefined;
  const keys: SetKey[] = [];
  if (agent !== DEFAULT_AGENT) keys.push({ key: "agent", value: agent, why: "Who does the work." });
  if (mode !== undefined)
    keys.push({ key: "permission_mode", value: mode, why: "What the agent may do without asking." });
  if (gates.length > 0)
    keys.push({
      key: "project_gates",
      // What waits for a key where nobody presses one ends.
      value: Object.fromEntries(gates.map(({ name, command, safe }) => [name, safe ? asCommand(command) : command])),
      why: `Gates of every phase that names none, found in ${[...new Set(gates.map(({ where }) => where))].join(", ")}.\nTake out what does not pass here: segno audit --try-gates`,
    });
  return { keys, gates: [...gates] };
}

const DEFAULT_AGENT = "claude";

/** Only where there is a choice: those that are here. */
async function askAgent(): Promise<string | undefined> {
  const here = [];
  for (const name of agentNames()) {
    const agent = await AGENTS[name]?.load({ whose: "user", env: process.env });
    const env = Object.fromEntries(
      Object.entries(process.env).filter((each): each is [string, string] => each[1] !== undefined),
    );
    const checked = await agent?.checkQuickly(env, process.cwd());
    if (agent !== undefined && (checked?.ok === true || checked?.problem === "no-login"))
      here.push({ name, meaning: `${agent.title}${checked.ok ? "" : ", not logged in yet"}` });
  }
  return here.length < 2 ? (here[0]?.name ?? DEFAULT_AGENT) : askChoice("Who does the work?", here);
}
