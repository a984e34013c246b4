/**
 * A run on many machines: who is there, who conducts it, and who holds which phase.
 *
 *   phase     free ─ taken ─▶ held(worker) ─ let go, or taken by another ─▶ …        beside it: leaving
 *   account   free ─ a usage limit ─▶ limited(until)
 *
 * A usage limit belongs to an account: an agent is away only where nobody who is there has it with an account that is free.
 */
import { chosenFor, mayWorkIn, PURPOSES } from "./choosing.js";
import type { FactOf } from "./event.js";
import type { Folding } from "./folding.js";
import { isAttempted } from "./phase.js";
import type { RunState } from "./state.js";

/** What a worker said of itself. */
export interface TeamWorker {
  worker: string;
  slots: number;
  /** Its agents, and whose account each of them uses. */
  agents: Readonly<Record<string, string>>;
  labels: readonly string[];
}

export interface Holding {
  worker: string;
  /** It is about to end, and hands the phase over at the next boundary. */
  leaving: boolean;
}

export interface TeamState {
  conductor: string | undefined;
  workers: readonly TeamWorker[];
  /** By phase. */
  holdings: ReadonlyMap<string, Holding>;
  /** Accounts that work again only at a moment, by agent and account. */
  limited: ReadonlyMap<string, string>;
}

/** What a phase wants of who takes it. */
export interface Needs {
  agents: string[];
  labels: string[];
}

const NOBODY: TeamState = { conductor: undefined, workers: [], holdings: new Map(), limited: new Map() };

const change = (state: Folding, changes: Partial<TeamState>): void => {
  state.team = { ...(state.team ?? NOBODY), ...changes };
};

export function workersSeen(state: Folding, { workers }: FactOf<"workers-seen">): void {
  change(state, { workers });
  // Somebody came whose account is free.
  for (const agent of state.away.keys()) if (hasFreeAccount(state, agent)) state.away.delete(agent);
}

export function runTaken(state: Folding, { worker }: FactOf<"run-taken">): void {
  change(state, { conductor: worker });
}

export function phaseTaken(state: Folding, { phase, worker }: FactOf<"phase-taken">): void {
  change(state, { holdings: new Map(state.team?.holdings).set(phase, { worker, leaving: false }) });
}

export function phaseLeaving(state: Folding, { phase, worker }: FactOf<"phase-leaving">): void {
  if (state.team?.holdings.get(phase)?.worker !== worker) return;
  change(state, { holdings: new Map(state.team.holdings).set(phase, { worker, leaving: true }) });
}

export function phaseLetGo(state: Folding, { phase, worker }: FactOf<"phase-let-go">): void {
  if (state.team?.holdings.get(phase)?.worker !== worker) return;
  const holdings = new Map(state.team.holdings);
  holdings.delete(phase);
  change(state, { holdings });
}

/** Whoever held something when it came to rest does not hold it now. */
export function nobodyHolds(state: Folding): void {
  if (state.team !== undefined) change(state, { holdings: new Map() });
}

const keyOf = (agent: string, account: string): string => `${agent} ${account}`;

/** Notes whose limit it is, and says whether the agent can still work with another's account. */
export function othersCanGoOn(state: Folding, { agent, account, until }: FactOf<"limit-reached">): boolean {
  if (agent === undefined || account === undefined) return false;
  change(state, { limited: new Map(state.team?.limited).set(keyOf(agent, account), until) });
  return hasFreeAccount(state, agent);
}

export const isLimited = ({ team, now }: RunState, agent: string, account: string): boolean =>
  (team?.limited.get(keyOf(agent, account)) ?? "") > now;

function hasFreeAccount(state: RunState, agent: string): boolean {
  const accounts = (state.team?.workers ?? []).flatMap(({ agents }) => agents[agent] ?? []);
  return accounts.some((account) => !isLimited(state, agent, account));
}

/** The run stops, or the phase is skipped, with what it has. */
export function isEnding({ stopping, phases }: RunState, id: string): boolean {
  const phase = phases.get(id);
  return stopping !== undefined || (isAttempted(phase) && phase.attempt.skipping);
}

/** What is in flight for a phase says whom it needs now; else everyone who may have to do something for it. */
export function needsOf(state: RunState, id: string): Needs {
  // What is open is committed, and no more: anybody can.
  if (isEnding(state, id)) return { agents: [], labels: [] };
  const phase = state.readiness.planned.get(id);
  const labels = [...(phase?.needs ?? [])].sort();
  const issued = [...state.inFlight.values()].find(
    (command) => command.type === "start-session" && command.phase === id,
  );
  const now = issued?.type === "start-session" ? issued.agent : undefined;
  if (now !== undefined) return { agents: [now], labels };
  const chosen = PURPOSES.map((purpose) => chosenFor(state.config, phase, purpose, mayWorkIn(state)).agent);
  return { agents: [...new Set(chosen)].sort(), labels };
}

export const canDo = (worker: Pick<TeamWorker, "agents" | "labels">, { agents, labels }: Needs): boolean =>
  agents.every((agent) => agent in worker.agents) && labels.every((label) => worker.labels.includes(label));

/** Phases for which something is to be done, which nobody holds, and which nobody who is there can take; and what they need. */
export function phasesNobodyCanTake(state: RunState): { phase: string; needs: Needs }[] {
  const { workers = [], holdings = new Map() } = state.team ?? {};
  const wanted = new Set([...state.inFlight.values()].map(({ phase }) => phase));
  return [...wanted]
    .filter((phase) => !holdings.has(phase))
    .map((phase) => ({ phase, needs: needsOf(state, phase) }))
    .filter(({ needs }) => !workers.some((worker) => canDo(worker, needs)));
}
