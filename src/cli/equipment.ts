/** What a real run works with: the user's agents, environment and choices. */
import type { PermissionLevel } from "../agents/agent.js";
import type { Config } from "../config/schema.js";
import type { Equipment } from "../engine/held-run.js";
import { worktreesFolder } from "../git/worktree.js";
import { RunView } from "../view/board.js";
import { MAIN } from "./background.js";
import type { FoundCrew } from "./crew.js";
import { eventPrinter } from "./print.js";

export function realEquipment(
  crew: FoundCrew,
  permissions: PermissionLevel,
  { env_deny, revive }: Pick<Config, "env_deny" | "revive">,
  json: boolean,
): { equipment: Equipment; view: RunView } {
  const env = environmentWithout(env_deny);
  const view = new RunView();
  const print = eventPrinter(json, view);
  const onEvent: Equipment["onEvent"] = (event) => {
    view.take(event);
    print(event);
  };
  return {
    equipment: {
      ...crew,
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

/** This process's, less what agents and gates must not see. */
export function environmentWithout(env_deny: readonly string[]): Record<string, string> {
  const denied = env_deny.map((pattern) => new RegExp(`^${pattern.split("*").map(escapeForm).join(".*")}$`));
  return Object.fromEntries(
    Object.entries(process.env).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && !denied.some((form) => form.test(entry[0])),
    ),
  );
}

const escapeForm = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
