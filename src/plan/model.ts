/** The plan as Segno understands it, whatever the form it was written in. */

/** A place in a plan file: a path relative to the repository's top level, and a line counted from 1. */
export interface Place {
  file: string;
  line: number;
}

export interface Task extends Place {
  id: string;
  title: string;
  /** Whether the box was ticked when the plan was read: the user's word. */
  ticked: boolean;
}

export interface Gate extends Place {
  id: string;
  name: string;
  command: string;
}

export interface Phase extends Place {
  id: string;
  title: string;
  dependsOn: string[];
  tasks: Task[];
  gates: Gate[];
  /** The phase's own Markdown, as the agent gets it. */
  text: string;
  /** Whether the plan marks it as done: the user's word. */
  markedDone: boolean;
}

export interface Plan {
  title: string;
  goal: string;
  /** The file the user named, relative to the repository's top level. */
  file: string;
  /** Every file the plan consists of; the first is `file`. */
  files: string[];
  phases: Phase[];
}

export interface Diagnostic extends Place {
  severity: "error" | "warning";
  message: string;
  fix: string;
}

export type ParsedPlan = { ok: true; plan: Plan; diagnostics: Diagnostic[] } | { ok: false; diagnostics: Diagnostic[] };

/** Reads a file of the repository; undefined where there is none. */
export type ReadPlanFile = (path: string) => string | undefined;
