/** Why a phase failed, in lines: the reason, what the failing gates printed last, and what to do next. */
import { debugReportPath } from "../run/outcome.js";
import type { BoardPhase } from "./board.js";

export type FailedPhase = Pick<BoardPhase, "id" | "failure" | "gates">;

/** Gates that did not pass when they were last run, with the end of what they printed. */
export const failingGates = ({ gates }: Pick<BoardPhase, "gates">): { name: string; why: string; tail: string[] }[] =>
  gates
    .filter(({ passed }) => !passed)
    .map(({ name, why, tail }) => ({ name, why, tail: tail === undefined || tail === "" ? [] : tail.split("\n") }));

/** The run that it failed in, as far as it says what comes next. */
export interface FailedIn {
  run: string;
  mode: "run" | "rehearsal";
  questions: readonly { phase: string }[];
}

/** The command that comes next, whole. */
export function nextCommand({ id, failure }: FailedPhase, { run, mode, questions }: FailedIn): string {
  if (questions.some(({ phase }) => phase === id)) return "segno answer: it waits for your word";
  if (mode === "rehearsal") return "segno rehearse, once the plan or the gate is corrected";
  const resume = `segno resume ${run}`;
  switch (failure?.category) {
    case "tools_refused":
      return `${resume} --permission-mode all, or after allowing the tool`;
    case "context_exhaustion":
    case "stuck":
      return `${resume}, after splitting the phase in the plan or saying more in its text`;
    case "human_needed":
      return `${resume} --attended, and answer what it asks`;
    case "budget":
      return `${resume}, with a larger budget (segno config set max_cost_usd 100)`;
    default:
      return resume;
  }
}

const quoted = (name: string): string => (/^[\w.-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`);

export function failureLines(phase: FailedPhase, run: FailedIn): string[] {
  const { id, failure } = phase;
  if (failure === undefined) return [];
  const gates = failingGates(phase).flatMap(({ name, why, tail }) => [
    `  gate ${name}: ${why}`,
    ...tail.map((line) => `    │ ${line}`),
    `    all of it: segno gate ${quoted(name)} --phase ${id}`,
  ]);
  return [
    `Phase ${id} failed (${failure.category}): ${failure.message}`,
    ...gates,
    ...(run.mode === "run" ? [`  report: ${debugReportPath(id)}`] : []),
    `  next: ${nextCommand(phase, run)}`,
  ];
}
