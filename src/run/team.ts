/**
 * A run on many machines: who is there, who conducts it, and who holds which phase.
 *
 *   phase     free ─ taken ─▶ held(worker) ─ let go, or taken by another ─▶ …        beside it: leaving
 *   account   free ─ a usage limit ─▶ limited(until)
 *
 * A usage limit belongs to an account: an agent is away only where nobody who is there has it with an account that is free.
 */
import { PURPOSES, whoWorks } from "./choosing.js";
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
  limited: ReadonlyMap<string, Limit>;
}

interface Limit {
  agent: string;
  account: string;
  until: string;
  message: string;
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
  // Somebody came whose account is free, or left.
  for (const agent of new Set([...(state.team?.limited.values() ?? [])].map((limit) => limit.agent)))
    countAccounts(state, agent);
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

/** A limit of an account, where it is known whose: the agent is away only while none is free. */
export function accountLimited(state: Folding, { agent, account, until, message }: FactOf<"limit-reached">): boolean {
  if (agent === undefined || account === undefined) return false;
  change(state, {
    limited: new Map(state.team?.limited).set(keyOf(agent, account), { agent, account, until, message }),
  });
  // Nobody is there who has it: whoever comes may have another account.
  if (!countAccounts(state, agent)) state.away.set(agent, { until, message, ofAccounts: true });
  return true;
}

const limitOf = ({ team, now }: RunState, agent: string, account: string): Limit | undefined => {
  const limit = team?.limited.get(keyOf(agent, account));
  return limit !== undefined && limit.until > now ? limit : undefined;
};

export const limitsNow = ({ team, now }: RunState): Limit[] =>
  [...(team?.limited.values() ?? [])].filter(({ until }) => until > now);

export const isLimited = (state: RunState, agent: string, account: string): boolean =>
  limitOf(state, agent, account) !== undefined;

/** Away until the first of its accounts is free; false where nobody is there whose account that could be. */
function countAccounts(state: Folding, agent: string): boolean {
  const accounts = (state.team?.workers ?? []).flatMap(({ agents, slots }) => (slots > 0 ? (agents[agent] ?? []) : []));
  if (accounts.length === 0) return false;
  const absence = state.away.get(agent);
  // What else keeps it away does so whoever's account it is.
  if (absence !== undefined && absence.ofAccounts !== true) return true;
  const limits = accounts.map((account) => limitOf(state, agent, account));
  const [first] = limits.filter((limit) => limit !== undefined).sort((a, b) => (a.until < b.until ? -1 : 1));
  if (first === undefined || limits.includes(undefined)) state.away.delete(agent);
  else state.away.set(agent, { until: first.until, message: first.message, ofAccounts: true });
  return true;
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
  // Whoever is away is waited for when it is their turn: what needs no agent is done meanwhile.
  const chosen = PURPOSES.flatMap((purpose) => whoWorks(state, id, purpose)?.agent ?? []);
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
