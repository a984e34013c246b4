/**
 * The agents of a run, found and checked before anything begins. Its own must be there, and so must the others that somebody
 * named; one that cannot keep the permission level is left out, and that is said: nothing gets wider because another agent
 * takes a phase.
 */
import type { Agent, PermissionLevel } from "../agents/agent.js";
import { agentNames, isCommand } from "../agents/registry.js";
import type { Config } from "../config/schema.js";
import { bad, type Failure, good, type Result } from "../engine/failure.js";
import type { Equipment } from "../engine/held-run.js";
import type { Plan } from "../plan/model.js";
import { agentsNamed } from "../run/choosing.js";
import { agentFor } from "./agent.js";
import { wordsOf } from "./words.js";

export type FoundCrew = Pick<Equipment, "agent" | "others" | "notices">;

export async function findCrew(
  config: Config,
  plan: Plan,
  level: PermissionLevel,
  whose: "user" | "bundled",
): Promise<Result<FoundCrew>> {
  const own = await agentFor(config.agent, whose, config.accounts);
  if (!own.ok) return own;
  const agent = own.value;
  if (agent.levels[level] === undefined) return bad(cannotKeep(agent, level));
  const inPlan = new Set(plan.phases.map((phase) => phase.agent));
  const others: Agent[] = [];
  const notices: string[] = [];
  const configured = agentsNamed(config, { phases: [] });
  for (const name of agentsNamed(config, plan).filter((each) => each !== config.agent)) {
    // Whoever wrote the plan chooses among agents; what is started is the user's word.
    if (isCommand(name) && !configured.includes(name)) {
      notices.push(
        `The plan names a command as the agent of a phase (${name}): only your configuration may. ${agent.title} does it.`,
      );
      continue;
    }
    const found = await agentFor(name, whose, config.accounts);
    if (found.ok && found.value.levels[level] !== undefined) others.push(found.value);
    else if (found.ok)
      notices.push(
        `${found.value.title} cannot keep permission_mode: ${level}, so it is left out: others do what it was to do.`,
      );
    // Plans use the word for other things, too; a configuration does not.
    else if (inPlan.has(name))
      notices.push(
        `The plan names "${name}" as an agent of a phase, and there is none of that name (${agentNames().join(", ")}): ${agent.title} does it.`,
      );
    else return found;
  }
  return good({ agent, others, notices });
}

const cannotKeep = ({ title, levels }: Agent, level: PermissionLevel): Failure => ({
  type: "usage",
  what: `${title} cannot keep permission_mode: ${level}.`,
  fix: `It knows ${Object.keys(levels).join(", ")}. Choose one with --permission-mode, or another agent with --agent.`,
});

/**
 * An agent that cannot be used is found out before anything is begun. One that is only there to go on where another is away
 * is left out, and that is said.
 */
export async function usableCrew(
  crew: FoundCrew,
  agentEnv: Record<string, string>,
  cwd: string,
  config: Config,
  plan: Plan,
): Promise<Result<FoundCrew>> {
  const asked = agentsNamed({ ...config, fallback: undefined }, plan);
  const others: Agent[] = [];
  const notices = [...(crew.notices ?? [])];
  for (const each of [crew.agent, ...(crew.others ?? [])]) {
    const problem = refused(each, config.permission_mode, agentEnv) ?? (await agentProblem(each, agentEnv, cwd));
    if (problem !== undefined && (each === crew.agent || asked.includes(each.name))) return bad(problem);
    if (problem !== undefined)
      notices.push(`${each.title} cannot go on where others are away: ${wordsOf(problem).what}`);
    else if (each !== crew.agent) others.push(each);
  }
  return good({ agent: crew.agent, others, notices });
}

function refused(agent: Agent, level: PermissionLevel | undefined, env: Record<string, string>): Failure | undefined {
  const here = level === undefined ? undefined : agent.refusesHere?.(level, env);
  return here === undefined ? undefined : { type: "usage", what: here.why, fix: here.fix };
}

async function agentProblem(agent: Agent, env: Record<string, string>, cwd: string): Promise<Failure | undefined> {
  const checked = await agent.checkQuickly(env, cwd);
  if (checked.ok) return undefined;
  const { title, help } = agent;
  return checked.problem === "no-login"
    ? { type: "no-login", agent: title, help: help.login }
    : { type: "no-agent", agent: title, help: help.install, detail: checked.detail };
}
