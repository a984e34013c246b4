/**
 * Who does what: the agent and the model of a session.
 *
 *   present ─ a usage limit ─▶ away(until) ─ the moment comes ─▶ present
 *
 * The user chooses: for a phase in the plan or by a rule, for a purpose, for the run. An agent that may not work here, because
 * it cannot keep the permission level, is passed over.
 */
import type { Config } from "../config/schema.js";
import type { Phase, Plan } from "../plan/model.js";
import type { Purpose } from "./command.js";
import { conclude, type Decision } from "./decision.js";
import type { FactOf } from "./event.js";
import type { Folding } from "./folding.js";
import type { RunState } from "./state.js";

export interface Chosen {
  agent: string;
  /** Undefined: the agent's own default. */
  model: string | undefined;
}

/** Why an agent does not work now. */
export interface Absence {
  until: string;
  message: string;
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

const PURPOSES: readonly Purpose[] = ["work", "remediate", "verify", "merge"];

/** Every agent that a plan or a configuration names, the run's own first. */
export function agentsNamed(config: Config, plan: Pick<Plan, "phases">): string[] {
  const { agents } = config;
  const named = [
    ...PURPOSES.map((purpose) => asWish(agents?.[purpose]).agent),
    ...(agents?.rules ?? []).map((rule) => rule.agent),
    ...plan.phases.map((phase) => phase.agent),
  ];
  return [...new Set([config.agent, ...named.filter((name) => name !== undefined)])];
}

/** Who works on a phase now; undefined: whoever should is away. */
export function whoWorks(state: RunState, id: string, purpose: Purpose): Chosen | undefined {
  const { config, readiness, crew } = state;
  const chosen = chosenFor(config, readiness.planned.get(id), purpose, (agent) => crew?.includes(agent) ?? true);
  return state.away.has(chosen.agent) ? undefined : chosen;
}

/** What the clock says about usage limits, before anything else. */
export function decideLimits({ away, now, config, stopping }: RunState): Decision | undefined {
  for (const [agent, { until }] of away) if (until <= now) return conclude({ type: "limit-lifted", agent });
  if (away.size === 0 || config.on_usage_limit !== "stop" || stopping !== undefined) return undefined;
  return conclude({ type: "stop-requested", by: "a usage limit (on_usage_limit: stop)", cause: "usage-limit" });
}

export function limitReached(state: Folding, { agent, until, message }: FactOf<"limit-reached">): void {
  state.away.set(agent ?? state.config.agent, { until, message });
}

export function limitLifted(state: Folding, { agent }: FactOf<"limit-lifted">): void {
  state.away.delete(agent ?? state.config.agent);
}
