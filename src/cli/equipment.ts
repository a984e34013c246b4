/** What a real run works with: the user's agent, environment and choices. */
import type { Agent, PermissionLevel } from "../agents/agent.js";
import type { Config } from "../config/schema.js";
import type { Failure } from "../engine/failure.js";
import type { Equipment } from "../engine/held-run.js";
import { worktreesFolder } from "../git/worktree.js";
import { RunView } from "../view/board.js";
import { MAIN } from "./background.js";
import { eventPrinter } from "./print.js";

export function realEquipment(
  agent: Agent,
  permissions: PermissionLevel,
  { env_deny, revive }: Pick<Config, "env_deny" | "revive">,
  json: boolean,
): { equipment: Equipment; view: RunView } {
  const denied = env_deny.map((pattern) => new RegExp(`^${pattern.split("*").map(escapeForm).join(".*")}$`));
  const env = Object.fromEntries(
    Object.entries(process.env).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && !denied.some((form) => form.test(entry[0])),
    ),
  );
  const view = new RunView();
  const print = eventPrinter(json, view);
  const onEvent: Equipment["onEvent"] = (event) => {
    view.take(event);
    print(event);
  };
  return {
    equipment: {
      agent,
      agentEnv: env,
      gateEnv: env,
      isolated: false,
      permissions,
      worktrees: worktreesFolder(process.env),
      onEvent,
      revives: (run, cwd) => (revive ? { args: [MAIN, "revive", run], cwd } : undefined),
    },
    view,
  };
}

const escapeForm = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** An agent that cannot be used is found out before anything is begun. */
export async function agentProblem(
  { agent, agentEnv }: Pick<Equipment, "agent" | "agentEnv">,
  cwd: string,
): Promise<Failure | undefined> {
  const checked = await agent.checkQuickly(agentEnv, cwd);
  if (checked.ok) return undefined;
  const { title, help } = agent;
  return checked.problem === "no-login"
    ? { type: "no-login", agent: title, help: help.login }
    : { type: "no-agent", agent: title, help: help.install, detail: checked.detail };
}
