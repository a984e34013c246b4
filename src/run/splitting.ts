/**
 * Phases that are too large become sub-phases: 20 becomes 20a, 20b, 20c. An agent that asks for it says which of them come
 * first; where Segno splits by itself they come one after the other, unless it is plain that they can be done at once.
 * Each is judged by the gates of its own tasks, the whole by the phase's.
 */
import { taskGroups } from "../context/forecast.js";
import type { Gate, Phase, Task } from "../plan/model.js";
import { commandId } from "./command.js";
import { conclude, type Decision, failPhase } from "./decision.js";
import type { FactOf, SplitCause } from "./event.js";
import type { Folding } from "./folding.js";
import type { PhaseResult } from "./outcome.js";
import { type Attempt, isAttempted, isOver, type PhaseState, revise, verifying, waiting } from "./phase.js";
import { anew, ask, openQuestions } from "./questions.js";
import { isSatisfied, readinessOf, setPhase } from "./readiness.js";
import { phaseOf, type RunState } from "./state.js";

export interface PartDraft {
  title: string;
  tasks: string[];
  /** Titles of parts that come before it. */
  depends_on?: string[] | undefined;
}

export interface WantedSplit {
  cause: SplitCause;
  reason: string;
  drafts: PartDraft[];
}

/** How many splits led to this phase. */
function depthOf({ parents }: RunState, id: string): number {
  let depth = 0;
  for (let parent = parents.get(id); parent !== undefined; parent = parents.get(parent)) depth++;
  return depth;
}

/** Why phases of this kind are never split here. */
function whyNot(state: RunState, id: string): string | undefined {
  const { split, max_split_depth: most, auto_commit } = state.config;
  if (split === "off") return "splitting is switched off (split: off)";
  if (!auto_commit) return "splitting needs commits, and auto_commit is off";
  if (depthOf(state, id) >= most) return `phase ${id} comes of ${most} splits already (max_split_depth)`;
  return undefined;
}

/** What is wrong with a request of the agent's, in words it can act on. */
export function requestProblem(
  state: RunState,
  id: string,
  result: PhaseResult,
  { done, repairs }: { done: readonly string[]; repairs: boolean },
): string | undefined {
  const refused = whyNot(state, id);
  if (refused !== undefined)
    return `${refused}. Go on with the phase as it is; if it cannot be done, report status failed.`;
  const parts = result.split_details?.recommended_sub_phases ?? [];
  if (result.split_details === undefined) return "split_details is missing: give reason and recommended_sub_phases.";
  if (parts.length < 2)
    return `recommended_sub_phases has ${parts.length === 0 ? "no entry" : "one entry"}: a split needs at least two.`;
  const order = orderProblem(parts);
  if (order !== undefined) return order;
  const known = phaseOf(state, id).tasks.map((task) => task.id);
  // A phase without tasks is divided by words alone.
  if (known.length === 0) return undefined;
  const open = repairs ? [] : known.filter((task) => !done.includes(task));
  const named = parts.flatMap((part) => part.tasks);
  const problems: string[] = [];
  const empty = parts.filter((part) => part.tasks.length === 0).map((part) => part.title);
  if (empty.length > 0) problems.push(`without tasks: ${empty.join(", ")}`);
  const invented = named.filter((task) => !known.includes(task));
  if (invented.length > 0) problems.push(`not in this phase: ${invented.join(", ")}`);
  const lost = open.filter((task) => !named.includes(task));
  if (lost.length > 0) problems.push(`in no sub-phase: ${lost.join(", ")}`);
  // What is repaired was done once.
  const finished = repairs ? [] : named.filter((task) => done.includes(task));
  if (finished.length > 0) problems.push(`done already: ${finished.join(", ")}`);
  const twice = [...new Set(named.filter((task, index) => named.indexOf(task) !== index))];
  if (twice.length > 0) problems.push(`in two sub-phases: ${twice.join(", ")}`);
  if (problems.length === 0) return undefined;
  const rule = repairs
    ? `each sub-phase names the tasks (of ${known.join(", ")}) whose work it repairs`
    : `each open task (${open.join(", ")}) belongs to exactly one sub-phase`;
  return `${rule}. ${problems.join("; ")}.`;
}

/** Titles that are used twice or not known, or parts that wait for each other. */
function orderProblem(parts: readonly PartDraft[]): string | undefined {
  const titles = parts.map(({ title }) => title);
  if (parts.every(({ depends_on = [] }) => depends_on.length === 0)) return undefined;
  if (new Set(titles).size < titles.length) return "two sub-phases have the same title: depends_on could mean either.";
  const unknown = parts.flatMap(({ depends_on = [] }) => depends_on.filter((title) => !titles.includes(title)));
  if (unknown.length > 0) return `depends_on names what is no sub-phase: ${unknown.join(", ")}.`;
  const placed = new Set<string>();
  for (let grown = true; grown; ) {
    const next = parts.filter(
      ({ title, depends_on = [] }) => !placed.has(title) && depends_on.every((other) => placed.has(other)),
    );
    for (const { title } of next) placed.add(title);
    grown = next.length > 0;
  }
  const circle = titles.filter((title) => !placed.has(title));
  return circle.length === 0 ? undefined : `these wait for each other: ${circle.join(", ")}.`;
}

const staysWhole = (state: RunState, id: string, { split, train }: Attempt): boolean =>
  split.refused || train.merge !== undefined || whyNot(state, id) !== undefined;

const EXHAUSTIONS = 2;
const USUAL_PARTS = 3;

/**
 * Whether a phase whose next session is due is to be split instead: because its agent asks for it, or because its context
 * was exhausted twice without a finished task. One that only exceeds a window is what handovers are for.
 */
export function wantsSplit(state: RunState, id: string, attempt: Attempt): WantedSplit | undefined {
  if (staysWhole(state, id, attempt)) return undefined;
  const { sessions, tasksDone, idleHandovers } = attempt.progress;
  const session = state.sessions.get(sessions.at(-1) ?? "");
  const request = session?.step === "ended" && session.reason === "result" ? session.result : undefined;
  if (request?.status === "split_request" && request.split_details !== undefined) {
    const { reason, recommended_sub_phases } = request.split_details;
    return { cause: "requested", reason, drafts: recommended_sub_phases };
  }
  const open = phaseOf(state, id).tasks.filter((task) => !tasksDone.includes(task.id));
  const exhausted =
    session?.step === "ended" &&
    session.purpose === "work" &&
    (session.reason === "handed-over" || session.reason === "context-full");
  if (!exhausted || idleHandovers < EXHAUSTIONS) return undefined;
  const reason = `its context was exhausted ${idleHandovers} times in a row without a finished task`;
  return grouped("exhausted", reason, phaseOf(state, id), taskGroups(open, Math.ceil(open.length / USUAL_PARTS)));
}

/** Many gates fail, and repairing them would fill a session: its parts look at their own tasks again. */
export function wantsSplitForRepair(
  state: RunState,
  id: string,
  attempt: Attempt,
  reason: string,
): WantedSplit | undefined {
  // Once: what its parts could not repair is repaired whole.
  if (staysWhole(state, id, attempt) || attempt.split.parts.length > 0) return undefined;
  const planned = phaseOf(state, id);
  const groups = taskGroups(planned.tasks, Math.ceil(planned.tasks.length / USUAL_PARTS));
  return grouped("repair", reason, planned, groups);
}

function grouped(
  cause: SplitCause,
  reason: string,
  { title }: Phase,
  groups: readonly string[][],
): WantedSplit | undefined {
  const some = groups.filter((group) => group.length > 0);
  if (some.length < 2) return undefined;
  return { cause, reason, drafts: some.map((tasks, index) => ({ title: `${title}, part ${index + 1}`, tasks })) };
}

/** Splits it, asks whether to, or waits for the answer. */
export function decideSplit(state: RunState, id: string, attempt: Attempt, wanted: WantedSplit): Decision | undefined {
  const { cause, reason } = wanted;
  const parts = partsOf(state, id, wanted);
  const split = conclude({ type: "phase-split", phase: id, attempt: attempt.number, cause, reason, parts });
  if (state.config.split === "auto") return split;
  const list = parts.map((part) => `${part.id} ${part.title} (${part.tasks.map((task) => task.id).join(", ")})`);
  const asked = ask(state, {
    kind: "split",
    id: commandId(id, attempt.number, "split", attempt.progress.sessions.length, anew(state)),
    phase: id,
    text: `Phase ${id} is too large (${reason}). Split it into ${parts.length} sub-phases? ${list.join("; ")}`,
  });
  if (asked.type === "asks") return asked.decision;
  return asked.type === "answered" && asked.choice === "split" ? split : undefined;
}

function partsOf(state: RunState, id: string, { drafts, cause, reason }: WantedSplit): Phase[] {
  const parent = phaseOf(state, id);
  const names = partNames(state, id, drafts.length);
  const parts = drafts.map((draft, index) => {
    const tasks = draft.tasks.flatMap((task) => parent.tasks.find((known) => known.id === task) ?? []);
    return { name: names[index] as string, draft, tasks, files: filesOf(parent, tasks) };
  });
  const inOrder = cause !== "requested" && !canBeAtOnce(parts);
  const before = (index: number): string[] =>
    inOrder
      ? names.slice(Math.max(0, index - 1), index)
      : parts.filter(({ draft }) => parts[index]?.draft.depends_on?.includes(draft.title)).map(({ name }) => name);
  return parts.map(({ name, draft, tasks, files }, index): Phase => {
    const others = parts.filter((other) => other.name !== name).flatMap((other) => other.files);
    return {
      ...parent,
      id: name,
      title: draft.title,
      dependsOn: before(index),
      tasks,
      gates: gatesOf(
        parent,
        tasks,
        files.filter((file) => !others.includes(file)),
      ),
      files,
      criteria: [],
      mark: undefined,
      text: partText(parent, { name, title: draft.title, tasks, failing: cause === "repair" ? reason : undefined }),
    };
  });
}

/** The plan itself says so of every task, or every task names its files and no two parts share one. */
function canBeAtOnce(parts: readonly { tasks: readonly Task[]; files: readonly string[] }[]): boolean {
  const tasks = parts.flatMap((part) => part.tasks);
  if (tasks.every(({ title }) => AT_ONCE.test(title))) return true;
  const files = parts.flatMap((part) => part.files);
  return tasks.every(({ title }) => title.match(PATH) !== null) && new Set(files).size === files.length;
}

const AT_ONCE = /\[P\]|\(P\)|\bin parallel\b/;

/** 20a, 20b; of a sub-phase: 20a1, 20a2. Names that the plan uses are passed over. */
function partNames({ readiness, parents }: RunState, id: string, count: number): string[] {
  const names: string[] = [];
  for (let n = 0; names.length < count; n++) {
    const suffix = parents.has(id) ? String(n + 1) : n < 26 ? String.fromCharCode(97 + n) : `z${n - 25}`;
    if (!readiness.planned.has(`${id}${suffix}`)) names.push(`${id}${suffix}`);
  }
  return names;
}

/** Gates that stand under one of these tasks, or name a file that is these tasks' alone. The whole is judged by all. */
function gatesOf(parent: Phase, tasks: readonly Task[], files: readonly string[]): Gate[] {
  return parent.gates.filter(({ check, file, line }) => {
    if (check.type === "manual") return false;
    const said = check.type === "command" ? check.command : check.path;
    if (files.some((own) => said.includes(own))) return true;
    return tasks.some((task) => {
      const next = parent.tasks[parent.tasks.indexOf(task) + 1];
      return file === task.file && line > task.line && next !== undefined && line < next.line;
    });
  });
}

const PATH = /`([\w@./-]*[\w-]+\.\w+|[\w@.-]+(?:\/[\w@.-]+)+\/?)`/g;

/** What the tasks name, and what the phase names that they speak of. */
function filesOf(parent: Phase, tasks: readonly Task[]): string[] {
  const named = tasks.flatMap((task) => [...task.title.matchAll(PATH)].map(([, path]) => path as string));
  const ofPhase = parent.files.filter((file) =>
    tasks.some((task) => task.title.includes(file.split("/").at(-1) ?? file)),
  );
  return [...new Set([...named, ...ofPhase])];
}

function partText(
  parent: Phase,
  { name, title, tasks, failing }: { name: string; title: string; tasks: readonly Task[]; failing: string | undefined },
): string {
  const list = tasks.length === 0 ? title : tasks.map((task) => `- ${task.id} ${task.title}`).join("\n");
  const repair =
    failing === undefined
      ? ""
      : `\n\nThe whole phase was done once, and then: ${failing}. Look at what these tasks left, and repair it.`;
  return `This is ${name}, a part of phase ${parent.id} (${parent.title}), which was too large for one. Do ${tasks.length === 0 ? "this" : "these tasks"} and nothing else: the rest of the phase is done by its other parts.\n\n${list}${repair}\n\nThe whole phase, for reference:\n\n${parent.text}`;
}

/** A phase whose sub-phases do the work. */
export function decideParts(
  state: RunState,
  id: string,
  { attempt }: Extract<PhaseState, { step: "split" }>,
): Decision[] {
  const parts = attempt.split.parts.map((part) => ({ part, now: state.phases.get(part) }));
  if (attempt.skipping) {
    const open = parts.filter(
      ({ now }) => now !== undefined && !isOver(now) && !(isAttempted(now) && now.attempt.skipping),
    );
    if (open.length > 0)
      return open.map(({ part }) => conclude({ type: "skip-requested", phase: part, by: `phase ${id} is skipped` }));
    return parts.every(({ now }) => now === undefined || isOver(now))
      ? [conclude({ type: "phase-skipped", phase: id })]
      : [];
  }
  const failed = parts.filter(({ now }) => now?.step === "failed");
  if (failed.length === 0) return [];
  const goesOn = parts.some(
    ({ part, now }) => now !== undefined && !isOver(now) && !(now.step === "waiting" && state.halted) && part !== id,
  );
  const asked = openQuestions(state).some((question) => attempt.split.parts.includes(question.phase));
  const settling = failed.some(({ now }) => now?.step === "failed" && now.last !== undefined && !now.settled);
  if (goesOn || asked || settling) return [];
  const first = failed[0]?.now;
  const failure = first?.step === "failed" ? first.failure : undefined;
  const names = failed.map(({ part }) => part).join(", ");
  return [
    failPhase(id, attempt.number, {
      category: failure?.category ?? "agent_error",
      message: `Of its sub-phases, ${names} failed: ${failure?.message ?? ""}`,
      recommendation: failure?.recommendation ?? "ask",
    }),
  ];
}

export function phaseSplit(state: Folding, event: FactOf<"phase-split">): void {
  const phase = state.phases.get(event.phase);
  if (!isAttempted(phase)) return;
  const at = state.plan.phases.findIndex(({ id }) => id === event.phase) + 1;
  state.plan = { ...state.plan, phases: state.plan.phases.toSpliced(at, 0, ...event.parts) };
  for (const part of event.parts) {
    state.parents.set(part.id, event.phase);
    state.phases.set(part.id, waiting());
  }
  const again = new Set(event.parts.flatMap((part) => part.tasks.map((task) => task.id)));
  const { tasksDone } = phase.attempt.progress;
  const left = tasksDone.filter((task) => !again.has(task));
  const progressed = revise(phase.attempt, "progress", { tasksDone: left, idleHandovers: 0 });
  const attempt = revise(progressed, "split", { parts: event.parts.map((part) => part.id) });
  state.phases.set(event.phase, { step: "split", attempt });
  state.readiness = readinessOf(state.plan, state.phases);
}

/** What a sub-phase finished is done in its phase; with the last of them the whole is verified. */
export function partEnded(state: Folding, id: string): void {
  const parent = state.parents.get(id);
  const phase = parent === undefined ? undefined : state.phases.get(parent);
  if (parent === undefined || phase?.step !== "split") return;
  const part = state.phases.get(id);
  const { tasksDone } = phase.attempt.progress;
  const more = part?.step === "done" ? part.left.tasksDone.filter((task) => !tasksDone.includes(task)) : [];
  const attempt = revise(phase.attempt, "progress", { tasksDone: [...tasksDone, ...more] });
  const all = attempt.split.parts.every((each) => isSatisfied(state.phases.get(each)));
  // One that is to be skipped is not verified any more.
  if (!all || attempt.skipping) return setPhase(state, parent, { ...phase, attempt });
  const open = revise(revise(attempt, "judged", { inspected: undefined }), "commits", { settled: false });
  setPhase(state, parent, verifying(open));
}
