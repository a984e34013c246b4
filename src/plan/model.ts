/** The plan as Segno understands it, whatever the form it was written in. */

/** A place in a plan file: a path relative to the repository's top level, and a line counted from 1. */
export interface Place {
  file: string;
  line: number;
}

export const FORMATS = [
  "master",
  "phase-file",
  "phases",
  "tasks",
  "tagged",
  "checklist",
  "kiro",
  "spec-kit",
  "openspec",
  "task-master",
  "bmad",
] as const;
export type FormatName = (typeof FORMATS)[number];

export interface Task extends Place {
  id: string;
  title: string;
  /** Whether the box was ticked when the plan was read: the user's word. */
  ticked: boolean;
  /** The plan says that nobody must do it. */
  optional?: true | undefined;
}

/** What a gate looks at. */
export type GateCheck =
  /** A command the user wrote: judged by its exit status, or by the number it prints where the plan says which. */
  | {
      type: "command";
      command: string;
      prints?: { atLeast: boolean; number: number } | undefined;
      /** The number it prints must not be less than before the first phase. */
      noDecrease?: true | undefined;
    }
  /** A file the phase must have written. */
  | { type: "file"; path: string }
  /** Something only a person can judge. */
  | { type: "manual" };

export interface Gate extends Place {
  id: string;
  name: string;
  check: GateCheck;
  /** Nobody wrote it down as a gate: the plan's words name the command. */
  inWords?: true | undefined;
}

/** `unverified`: done, and nothing but its agent says so. */
export type PlanMark = "done" | "unverified" | "failed";

export const isDone = (mark: PlanMark | undefined): boolean => mark === "done" || mark === "unverified";

export interface Phase extends Place {
  id: string;
  title: string;
  dependsOn: string[];
  tasks: Task[];
  gates: Gate[];
  /** The phase's own Markdown, as the agent gets it. */
  text: string;
  /** How the plan marks it when it is read: the user's word. */
  mark: PlanMark | undefined;
  complexity: "simple" | "medium" | "complex" | undefined;
  /** How long the plan thinks it takes, as it says it. */
  estimate?: string | undefined;
  /** Who is to do it, and with which model, where the plan says so. */
  agent?: string | undefined;
  model?: string | undefined;
  /** What only some machines have, where the plan says so. */
  needs?: string[] | undefined;
  /** Files the plan says it creates or changes. */
  files: string[];
  criteria: string[];
  /** Files and notes to read before anything else. */
  readFirst: string[];
  /** Tasks that the plan leaves open, and that are not done here. */
  leftOut?: Task[] | undefined;
}

export interface Plan {
  format: FormatName;
  title: string;
  goal: string;
  /** The file the user named, relative to the repository's top level. */
  file: string;
  /** Every file the plan consists of; the first is `file`. */
  files: string[];
  phases: Phase[];
  /** The heading under which the plan itself says how to work here, if it does. */
  standards?: string | undefined;
  /** What is left to the user when all is done. */
  afterwards?: string | undefined;
}

export interface Diagnostic extends Place {
  severity: "error" | "warning";
  message: string;
  fix: string;
}

/** A document without a form, taken as a plan. */
export interface OutlineTask {
  title: string;
  /** What stands below it, as it is written. */
  details: string;
  ticked: boolean;
}

export interface OutlinePhase {
  title: string;
  line: number;
  /** What is said beside its bullets. */
  text: string;
  tasks: OutlineTask[];
  criteria: string[];
}

export interface Outline {
  title: string;
  goal: string;
  phases: OutlinePhase[];
}

/** With errors there may still be a plan to show, but none to run. `boxes`: lines that look like one to a person. */
export type ParsedPlan =
  | { ok: true; plan: Plan; boxes: number; diagnostics: Diagnostic[] }
  | {
      ok: false;
      plan: Plan | undefined;
      boxes: number;
      diagnostics: Diagnostic[];
      /** What its headings and bullets would be, where it has no form at all. */
      outline?: Outline | undefined;
    };

/** Reads a file of the repository: its text, why it cannot be read, or undefined where there is none. */
export interface ReadPlanFile {
  (path: string): string | { problem: string } | undefined;
  /** Files below a folder, at any depth; where it is not given, nobody can tell. */
  list?: (folder: string) => string[];
}

/** What the configuration adds to a plan. */
export interface PlanOptions {
  format?: FormatName | undefined;
  /** Commands for gates the plan only names, or `manual`. */
  gates?: Readonly<Record<string, string>> | undefined;
  /** A gate of every phase. */
  testCommand?: string | undefined;
  /** Gates, by name, of every phase that has no command to judge it. */
  projectGates?: Readonly<Record<string, string>> | undefined;
  /** Tokens that Segno may say in a prompt: what is longer is warned of. */
  promptTokens?: number | undefined;
  /** Whether sub-phases inside a phase file run as phases of their own. */
  subPhases?: "together" | "separate" | undefined;
  /** Which of several lists of tasks in one file. */
  tag?: string | undefined;
  /** Whether tasks that the plan calls optional are done, too. */
  optionalTasks?: boolean | undefined;
}
