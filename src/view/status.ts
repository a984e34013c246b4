/** How a run stands, told from its state: the one truth of every screen. */
import type { Phase } from "../plan/model.js";
import { isAttempted, leftBy, type PhaseState, waiting } from "../run/phase.js";
import { openQuestions } from "../run/questions.js";
import type { RunState } from "../run/state.js";

/** `stopped`: begun, and its run came to rest in the middle of it. */
export type PhaseStatus = "pending" | "running" | "stopped" | "done" | "failed" | "skipped";

export interface PhaseStanding {
  id: string;
  title: string;
  status: PhaseStatus;
  /** Whether gates passed: a phase without gates is done but unverified. */
  verified: boolean;
  commits: string[];
  tasks: { done: number; total: number };
  tasksDone: string[];
  failure: { category: string; message: string; recommendation: string } | undefined;
  forecast: { sessions: number; tokens: number } | undefined;
  /** The phase it is a sub-phase of, and the sub-phases it was split into. */
  part_of: string | undefined;
  parts: string[];
  dependsOn: string[];
  /** Where its text is. */
  file: string;
  /** What it does now, in a word or two. */
  doing: string;
  /** The session that has the floor. */
  live: string | undefined;
  /** Which machine has it, where there are many. */
  worker: string | undefined;
}

export interface OpenQuestion {
  id: string;
  phase: string;
  text: string;
  choices: { key: string; name: string; meaning: string }[];
  /** What counts when nobody answers, and when. */
  fallback: string;
  until: string;
}

export interface Standing {
  run: string;
  mode: "run" | "rehearsal";
  plan: string;
  title: string;
  goal: string;
  branch: string;
  status: "running" | "paused" | "completed" | "failed" | "stopped";
  stopping: boolean;
  questions: OpenQuestion[];
  limit: { until: string; message: string } | undefined;
  phases: PhaseStanding[];
  /** On many machines: who conducts, who is there, and what each holds. */
  team: TeamStanding | undefined;
}

export interface TeamStanding {
  conductor: string | undefined;
  workers: { worker: string; slots: number; agents: string[]; labels: string[]; phases: string[] }[];
}

export function standingOf(state: RunState): Standing {
  const { run, mode, plan, branch } = state;
  const isRunning = state.status === "running";
  return {
    run,
    mode,
    plan: plan.file,
    title: plan.title,
    goal: plan.goal,
    branch,
    status: isRunning && state.hold !== undefined ? "paused" : state.status,
    stopping: state.stopping !== undefined,
    // What nobody answered is moot once the run is over.
    questions: isRunning
      ? openQuestions(state).map(({ id, phase, text, choices, fallback, until }) => ({
          id,
          phase,
          text,
          choices: [...choices],
          fallback,
          until,
        }))
      : [],
    limit: waitsFor(state),
    phases: plan.phases.map((phase) => standingOfPhase(state, phase)),
    team: teamOf(state),
  };
}

function teamOf({ team }: RunState): TeamStanding | undefined {
  if (team === undefined) return undefined;
  const { conductor, workers, holdings } = team;
  const heldBy = (worker: string): string[] =>
    [...holdings].flatMap(([phase, holding]) => (holding.worker === worker ? [phase] : []));
  return {
    conductor,
    workers: workers.map(({ worker, slots, agents, labels }) => ({
      worker,
      slots,
      agents: Object.keys(agents),
      labels: [...labels],
      phases: heldBy(worker),
    })),
  };
}

/** The agents that are away hold the run where nobody else is at work. */
export function waitsFor({ away, sessions }: RunState): Standing["limit"] {
  const known = [...away].flatMap(([agent, { until, message }]) =>
    until === undefined ? [] : [{ agent, until, message }],
  );
  const [first] = known.sort((a, b) => a.until.localeCompare(b.until));
  if (first === undefined || [...sessions.values()].some(({ step }) => step !== "ended")) return undefined;
  const { agent, until, message } = first;
  return { until, message: away.size > 1 ? `${agent}: ${message}` : message };
}

/** How a run stands, in a word or two: what it waits for says more than that it is running. */
export function statusWords({
  status,
  stopping,
  limit,
  questions,
  phases,
}: Pick<Standing, "status" | "stopping" | "limit" | "questions"> & {
  phases: readonly Pick<PhaseStanding, "id" | "live" | "doing" | "status">[];
}): string {
  if (status !== "running") return status;
  if (stopping) return "stopping";
  if (limit !== undefined) return `waiting until ${limit.until.slice(11, 16)} UTC`;
  const asks = new Set(questions.map(({ phase }) => phase));
  const isWorking = phases.some(
    (phase) => !asks.has(phase.id) && (phase.live !== undefined || (phase.doing !== "" && phase.status === "running")),
  );
  return questions.length > 0 && !isWorking ? "waits for you" : status;
}

const STATUS: Record<PhaseState["step"], PhaseStatus> = {
  waiting: "pending",
  starting: "running",
  working: "running",
  remediating: "running",
  verifying: "running",
  reviewing: "running",
  committing: "running",
  merging: "running",
  split: "running",
  done: "done",
  skipped: "skipped",
  failed: "failed",
};

function standingOfPhase(state: RunState, planned: Phase): PhaseStanding {
  const { id, title, file, tasks, dependsOn } = planned;
  const phase = state.phases.get(id) ?? waiting();
  const forecast = state.forecast.get(id);
  const tasksDone = doneIn(state, planned, phase);
  return {
    id,
    title,
    status: statusOf(state, id, phase),
    verified: phase.step === "done" && phase.verified,
    commits: leftBy(phase).commits,
    tasks: { done: tasksDone.length, total: tasks.length },
    tasksDone,
    failure: phase.step === "failed" ? { ...phase.failure } : undefined,
    forecast: forecast === undefined ? undefined : { sessions: forecast.sessions, tokens: forecast.tokens },
    part_of: state.parents.get(id),
    parts: partsOf(state, id),
    dependsOn: [...dependsOn],
    file,
    doing: isQueued(state, id, phase) ? "waiting" : doing(state, phase),
    worker: state.team?.holdings.get(id)?.worker,
    live: "next" in phase && phase.next.type === "running" ? phase.next.session : undefined,
  };
}

function statusOf(state: RunState, id: string, phase: PhaseState): PhaseStatus {
  if (isQueued(state, id, phase)) return "pending";
  const status = STATUS[phase.step];
  return status === "running" && state.status !== "running" ? "stopped" : status;
}

/** It is offered to the team, and nobody has it yet. */
const isQueued = ({ team }: RunState, id: string, { step }: PhaseState): boolean =>
  step === "starting" && team !== undefined && !team.holdings.has(id);

const partsOf = ({ parents, plan }: RunState, id: string): string[] =>
  parents.size === 0 ? [] : plan.phases.filter((part) => parents.get(part.id) === id).map((part) => part.id);

/** Tasks that are done: reported, in git, ticked by the user, or done by its sub-phases. */
function doneIn(state: RunState, planned: Phase, phase: PhaseState): string[] {
  const done = new Set(leftBy(phase).tasksDone);
  if (isAttempted(phase))
    for (const part of phase.attempt.split.parts)
      for (const task of leftBy(state.phases.get(part) ?? phase).tasksDone) done.add(task);
  return planned.tasks.filter((task) => task.ticked || done.has(task.id)).map((task) => task.id);
}

const DOING = { work: "working", remediate: "repairing", verify: "reviewing", merge: "merging" } as const;

function doing(state: RunState, phase: PhaseState): string {
  switch (phase.step) {
    case "starting":
      return "starting";
    case "working":
    case "remediating":
    case "reviewing": {
      if (phase.next.type === "handover-commit") return "handing over";
      if (phase.next.type === "session") return (phase.attempt.trouble.notBefore ?? "") > state.now ? "waiting" : "";
      const session = state.sessions.get(phase.next.session);
      if (session === undefined) return "";
      return session.step === "checkpointing" ? "handing over" : DOING[session.purpose];
    }
    case "verifying":
      return phase.attempt.train.merge === undefined ? "verifying" : "merging";
    case "committing":
      return "committing";
    case "merging":
      return "merging";
    case "split":
      return "split";
    case "failed":
      return (phase.revising?.until ?? "") > state.now ? "to revise" : "";
    default:
      return "";
  }
}
