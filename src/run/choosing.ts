/**
 * Who does what: the agent and the model of a session.
 *
 *   present ─ a usage limit, down, no login, no such model ─▶ away(until) ─ the moment comes, or a resume ─▶ present
 *
 * The user chooses: for a phase in the plan or by a rule, for a purpose, for the run. An agent that may not work here, because
 * it cannot keep the permission level, is passed over. Where the chosen one is away for long, the next one of `fallback` that
 * is present goes on: the relay. It keeps the phase to its end, or hands it back with the next session (`relay_back`).
 */
import type { Config } from "../config/schema.js";
import type { Phase, Plan } from "../plan/model.js";
import type { Purpose } from "./command.js";
import { conclude, type Decision } from "./decision.js";
import type { FactOf } from "./event.js";
import type { Folding } from "./folding.js";
import { changeAttempt, revise } from "./phase.js";
import type { RunState } from "./state.js";

export interface Chosen {
  agent: string;
  /** Undefined: the agent's own default. */
  model: string | undefined;
}

/** Why an agent does not work now, and until when; without a moment: until a person has acted. */
export interface Absence {
  until: string | undefined;
  message: string;
  /** For the limits of its accounts, as far as they are known: it is over as soon as one of them is free. */
  ofAccounts?: boolean;
}

type Wish = { agent?: string | undefined; model?: string | undefined };

/** What the user chose; `mayWork` leaves agents out. */
export function chosenFor(
  config: Config,
  phase: Pick<Phase, "id" | "title" | "agent" | "model"> | undefined,
  purpose: Purpose,
  mayWork: (agent: string) => boolean = () => true,
): Chosen {
  const wishes = wishesFor(config, phase, purpose);
  const agent = wishes.find((wish) => wish.agent !== undefined && mayWork(wish.agent))?.agent ?? config.agent;
  // A model goes with the agent it was named for.
  const model = wishes.find((wish) => wish.model !== undefined && (wish.agent ?? agent) === agent)?.model;
  return { agent, model };
}

/** Nearest first. Who judges need not be who wrote, so what is said for judging comes before what is said for the phase. */
function wishesFor(
  config: Config,
  phase: Pick<Phase, "id" | "title" | "agent" | "model"> | undefined,
  purpose: Purpose,
): Wish[] {
  const { agents } = config;
  const ofPurpose = asWish(agents?.[purpose]);
  const ofPhase: Wish[] =
    phase === undefined
      ? []
      : [{ agent: phase.agent, model: phase.model }, agents?.rules.find((rule) => fits(rule, phase)) ?? {}];
  const own = { agent: config.agent, model: config.model };
  return purpose === "verify" ? [ofPurpose, ...ofPhase, own] : [...ofPhase, ofPurpose, own];
}

const asWish = (value: string | Wish | undefined): Wish =>
  typeof value === "string" ? { agent: value } : (value ?? {});

type Rule = NonNullable<Config["agents"]>["rules"][number];

const fits = ({ phases, title }: Rule, phase: Pick<Phase, "id" | "title">): boolean =>
  (phases === undefined || phases.map(String).includes(phase.id)) &&
  (title === undefined || phase.title.toLowerCase().includes(title.toLowerCase()));

export const PURPOSES: readonly Purpose[] = ["work", "remediate", "verify", "merge"];

/** Every agent that a plan or a configuration names, the run's own first. */
export function agentsNamed(config: Config, plan: Pick<Plan, "phases">): string[] {
  const { agents } = config;
  const named = [
    ...PURPOSES.map((purpose) => asWish(agents?.[purpose]).agent),
    ...(agents?.rules ?? []).map((rule) => rule.agent),
    ...plan.phases.map((phase) => phase.agent),
    ...(config.fallback ?? []),
  ];
  return [...new Set([config.agent, ...named.filter((name) => name !== undefined)])];
}

export const mayWorkIn =
  ({ crew }: RunState) =>
  (agent: string): boolean =>
    crew?.includes(agent) ?? true;

/** Who works on a phase now; undefined: whoever should is away. `before`: who had its last session. */
export function whoWorks(state: RunState, id: string, purpose: Purpose, before?: string): Chosen | undefined {
  const chosen = chosenFor(state.config, state.readiness.planned.get(id), purpose, mayWorkIn(state));
  const line = [chosen, ...standIns(state, chosen)];
  // Whoever took a phase over keeps it.
  const keeps = state.config.relay_back === "handover" ? undefined : line.find(({ agent }) => agent === before);
  if (keeps !== undefined && !state.away.has(keeps.agent)) return keeps;
  for (const each of line) {
    const absence = state.away.get(each.agent);
    if (absence === undefined) return each;
    // A short wait is cheaper than another's start.
    if (each === chosen && isShort(state, absence)) return undefined;
  }
  return undefined;
}

/** Who may go on where another is away, in the user's order. */
function standIns(state: RunState, { agent: chosen }: Chosen): Chosen[] {
  const { config } = state;
  const mayWork = mayWorkIn(state);
  return (config.fallback ?? [])
    .filter((agent) => agent !== chosen && mayWork(agent))
    .map((agent) => ({ agent, model: agent === config.agent ? config.model : undefined }));
}

const MINUTE_MS = 60_000;

const isShort = ({ now, config }: RunState, { until }: Absence): boolean =>
  until !== undefined && Date.parse(until) - Date.parse(now) <= config.relay_after_minutes * MINUTE_MS;

/** Whether somebody else could go on with a phase, if this agent went away for good. */
export function couldRelay(state: RunState, id: string, purpose: Purpose, agent: string): boolean {
  const chosen = chosenFor(state.config, state.readiness.planned.get(id), purpose, mayWorkIn(state));
  return [chosen, ...standIns(state, chosen)].some((each) => each.agent !== agent && !state.away.has(each.agent));
}

/** What the clock says about agents that are away, before anything else. */
export function decideLimits(state: RunState): Decision | undefined {
  const { away, now, config, stopping } = state;
  for (const [agent, { until }] of away)
    if (until !== undefined && until <= now) return conclude({ type: "limit-lifted", agent });
  const stops = config.on_usage_limit === "stop" && stopping === undefined && isHeld(state);
  if (!stops) return undefined;
  return conclude({ type: "stop-requested", by: "a usage limit (on_usage_limit: stop)", cause: "usage-limit" });
}

/** Everybody who could work is away. */
const isHeld = ({ away, config, crew }: RunState): boolean =>
  away.size > 0 &&
  [config.agent, ...(config.fallback ?? [])].every((agent) => away.has(agent) || crew?.includes(agent) === false);

export function limitReached(state: Folding, { agent, until, message }: FactOf<"limit-reached">): void {
  state.away.set(agent ?? state.config.agent, { until, message });
}

export function limitLifted(state: Folding, { agent }: FactOf<"limit-lifted">): void {
  state.away.delete(agent ?? state.config.agent);
}

/** Another goes on with the phase, and begins with no errors of its own. */
export function agentAway(state: Folding, { agent, phase, until, message }: FactOf<"agent-away">): void {
  state.away.set(agent, { until, message });
  changeAttempt(state, phase, (attempt) => revise(attempt, "trouble", { apiErrors: 0, notBefore: undefined }));
}

/** A person has acted, as far as anybody can tell. */
export function agentsBack(state: Folding): void {
  for (const [agent, { until }] of state.away) if (until === undefined) state.away.delete(agent);
}
