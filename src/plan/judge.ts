/** What can be said about a plan as a whole: errors that keep it from running, warnings worth knowing before. */
import { BLANK } from "./blank.js";
import { cannotFail } from "./gates.js";
import { findCycle } from "./graph.js";
import type { Diagnostic, Phase, Plan } from "./model.js";

/** What Segno itself says in one prompt should stay below this, if nothing else is said. */
const USUAL_PROMPT = 7_500;
/** A rough count. */
const CHARS_PER_TOKEN = 3;

export function judgePlan({ file, phases, title, goal }: Plan, promptTokens = USUAL_PROMPT): Diagnostic[] {
  const diagnostics: Diagnostic[] = [];
  if (isBlank(title.split(":")[0] ?? "") || isBlank(goal))
    diagnostics.push(
      at(
        { file, line: 1 },
        "error",
        `The plan still has blanks (${BLANK}) where its title and overview belong.`,
        "Write what it is about: every session reads it.",
      ),
    );
  const ids = new Set<string>();
  for (const phase of phases) {
    if (ids.has(phase.id))
      diagnostics.push(at(phase, "error", `Two phases have the id ${phase.id}.`, "Give each phase an id of its own."));
    ids.add(phase.id);
  }
  const list = [...ids].slice(0, 50).join(", ");
  for (const phase of phases) diagnostics.push(...judgePhase(phase, ids, list, promptTokens));
  const cycle = findCycle(phases);
  if (cycle !== undefined) {
    const first = phases.find((phase) => phase.id === cycle[0]) ?? { file, line: 1 };
    diagnostics.push(
      at(
        first,
        "error",
        `The phases wait for each other in a circle: ${cycle.join(" → ")}.`,
        "Remove one of these dependencies.",
      ),
    );
  }
  return diagnostics;
}

const isBlank = (text: string): boolean => text.trim() === BLANK;

const at = (
  { file, line }: { file: string; line: number },
  severity: Diagnostic["severity"],
  message: string,
  fix: string,
): Diagnostic => ({ severity, file, line, message, fix });

function judgePhase(phase: Phase, ids: ReadonlySet<string>, list: string, promptTokens: number): Diagnostic[] {
  const diagnostics = phase.dependsOn
    .filter((id) => !ids.has(id))
    .map((id) =>
      at(
        phase,
        "error",
        `Phase ${phase.id} depends on phase ${id}, which is not in the plan.`,
        `Known phases: ${list}.`,
      ),
    );
  if (phase.id === "") diagnostics.push(at(phase, "error", "A phase has no id.", "Begin its title with `Phase 1: …`."));
  const blanks = [phase.title, ...phase.tasks.map(({ title }) => title), ...phase.criteria].filter(isBlank).length;
  if (blanks > 0)
    diagnostics.push(
      at(
        phase,
        "error",
        `Phase ${phase.id} still has ${blanks === 1 ? "a blank" : `${blanks} blanks`} (${BLANK}) where its title, tasks and criteria belong.`,
        "Write what is to be done there, and take out what is not needed.",
      ),
    );
  if (phase.gates.length === 0) {
    diagnostics.push(
      at(
        phase,
        "warning",
        `Phase ${phase.id} has no gate: what else judges it depends on gates_found and verify.`,
        "Add one (`## Gates`, - tests: all pass (command: `npm test`)), or set project_gates in .segno/config.yaml.",
      ),
    );
  }
  for (const gate of phase.gates) {
    if (gate.check.type === "command" && cannotFail(gate.check.command)) {
      diagnostics.push(
        at(
          gate,
          "warning",
          `The gate "${gate.name}" of phase ${phase.id} cannot fail: ${gate.check.command}`,
          "Give it a command that fails when the work is not done.",
        ),
      );
    }
  }
  if (phase.tasks.length === 0) {
    diagnostics.push(
      at(
        phase,
        "warning",
        `Phase ${phase.id} has no task: its whole text is the task.`,
        "Add checkboxes, so that progress can be followed and handed over.",
      ),
    );
  }
  const outside = [...phase.files, ...phase.readFirst].filter(leadsOutside);
  if (outside.length > 0) {
    diagnostics.push(
      at(
        phase,
        "warning",
        `Phase ${phase.id} names files outside the repository: ${outside.slice(0, 5).join(", ")}`,
        "What is changed there is not committed and cannot be undone. Use paths inside the repository.",
      ),
    );
  }
  const tokens = Math.ceil(phase.text.length / CHARS_PER_TOKEN);
  if (tokens > promptTokens) {
    diagnostics.push(
      at(
        phase,
        "warning",
        `Phase ${phase.id} has about ${tokens} tokens of text, more than the prompt budget of ${promptTokens}: it cannot be pruned.`,
        "Divide it, or move long listings to files that it names.",
      ),
    );
  }
  return diagnostics;
}

function leadsOutside(path: string): boolean {
  if (/^([/~]|[A-Za-z]:\\)/.test(path)) return true;
  let depth = 0;
  for (const part of path.split("/")) {
    depth += part === ".." ? -1 : part === "." || part === "" ? 0 : 1;
    if (depth < 0) return true;
  }
  return false;
}
