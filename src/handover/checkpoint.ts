/** What the next session is told: the agent's own summary, audited, and under it what the ledger and git say. */
import type { Task } from "../plan/model.js";
import type { ChangedFile } from "../run/changed-file.js";
import { type Audited, audit } from "./audit.js";
import { bulletList, renderBounded, type Section } from "./bounded.js";
import type { Handed } from "./handed.js";
import { type Ledger, reportedIn } from "./ledger.js";

/** More than anyone reads; the budget cuts earlier. */
const MOST_FILES = 500;
const KIND_WORDS = { A: "new", M: "changed", D: "deleted", T: "type changed", R: "renamed" } as const;

export interface CheckpointView {
  handed: Handed | undefined;
  ledger: Ledger;
  /** Undefined: git could not be read. */
  files: readonly ChangedFile[] | undefined;
  tasks: readonly Task[];
  tasksDone: readonly string[];
  /** The session that it is about. */
  session: string | undefined;
  /** The most it may be long. */
  tokens: number;
}

export interface Rendered {
  text: string;
  /** What the agent claims and git or the ledger contradicts. */
  contradictions: string[];
}

export function renderCheckpoint(view: CheckpointView): Rendered {
  const { handed } = view;
  const { files, tasks, tasksDone } = view;
  const audited = handed?.type === "tool" ? audit(handed.claims, { files, tasks, tasksDone }) : undefined;
  const sections = [...claimSections(handed, audited), ...ledgerSections(view)];
  return { text: renderBounded(sections, view.tokens), contradictions: audited?.contradictions ?? [] };
}

const section = (
  words: string,
  items: readonly string[] = [],
  least = 3,
  keep: Section["keep"] = "first",
): Section => ({
  words,
  items,
  least,
  keep,
});

function claimSections(handed: Handed | undefined, audited: Audited | undefined): Section[] {
  if (handed === undefined) return [];
  if (handed.type !== "tool" || audited === undefined) {
    const text = handed.type === "tool" ? "" : handed.text;
    const where =
      handed.type === "block" ? "What the previous session handed over" : "What the previous session answered";
    return [{ ...section(`### ${where} (not checked)\n`), body: text.trim() }];
  }
  const { completed, remaining, do_not_redo, decisions } = audited.claims;
  const list = (title: string, items: string[]) => (items.length > 0 ? [section(`${title}:`, items)] : []);
  return [
    { ...section("### What the previous session says\n"), body: `Goal: ${handed.claims.goal.trim()}` },
    ...list("Completed work", completed),
    ...list("Remaining, in order", remaining),
    ...list("Do not redo", do_not_redo),
    ...list("Decisions and constraints", decisions),
    ...list("Marked by Segno: what the previous session says and what was seen do not agree", audited.contradictions),
  ];
}

/** What a session that was cut off did after its last report: the next one should look before it repeats it. */
export function unreportedWork({ unreported }: Ledger): string {
  if (unreported.length === 0) return "";
  const calls = unreported.map(({ tool, brief }) => `${tool} ${brief}`.trim());
  return `Tool calls that finished after the last report, newest last (look before you repeat them):\n${bulletList(calls, calls.length)}`;
}

function ledgerSections({ ledger, files, tasks, tasksDone, session }: CheckpointView): Section[] {
  const done = new Set(tasksDone);
  const remaining = tasks.filter((task) => !done.has(task.id));
  const list = (title: string, items: readonly string[], keep: Section["keep"] = "last") =>
    items.length > 0 ? [section(`${title}:`, items, 2, keep)] : [];
  const silent = session !== undefined && !reportedIn(ledger, session);
  const failing = [...ledger.gates.values()].filter((gate) => !gate.passed);
  return [
    section(
      [
        "### What Segno saw itself (trust this where the two differ)",
        `${tasks.length - remaining.length} of ${tasks.length} tasks are reported as done.`,
        ...(remaining.length > 0 ? [`Tasks left: ${remaining.map((task) => task.id).join(", ")}.`] : []),
        ...(silent ? ["The previous session reported no progress: look at what git shows before you begin."] : []),
      ].join("\n\n"),
    ),
    ...list(
      "Progress reported, newest last",
      ledger.progress.map(({ task, message }) => (task === undefined ? message : `${task}: ${message}`)),
    ),
    ...list("Decisions recorded", ledger.decisions),
    ...unreportedSection(ledger),
    ...list(
      "Gates that failed last time",
      failing.map((gate) => `${gate.name}: ${gate.why}`),
    ),
    ...list(
      "Commands, the last of each kind",
      [...ledger.commands.values()].map(({ command, ok }) => `${ok ? "ok" : "failed"}: ${command}`),
    ),
    ...list("Sub-agents that finished", ledger.subagents),
    ...list("Tool calls that failed, newest last", ledger.errors),
    ...list(
      "Questions and answers",
      ledger.answers.filter(({ answer }) => answer !== "").map(({ question, answer }) => `${question} → ${answer}`),
    ),
    files === undefined
      ? section("Git could not be read: what changed in this phase is not known. Look yourself before you begin.")
      : files.length === 0
        ? section("Git shows no changed file in this phase so far.")
        : section(
            "Files changed in this phase, according to git (do not recreate them, review them first):",
            [...files.slice(0, MOST_FILES).map(describeFile), ...moreFiles(files)],
            5,
          ),
  ];
}

const unreportedSection = (ledger: Ledger): Section[] => {
  const text = unreportedWork(ledger);
  return text === "" ? [] : [section(text)];
};

function describeFile({ path, kind, from, added, removed }: ChangedFile): string {
  const stat = added === undefined ? "" : `, +${added} −${removed ?? 0}`;
  return `${path} (${KIND_WORDS[kind]}${from === undefined ? "" : ` from ${from}`}${stat})`;
}

const moreFiles = (files: readonly ChangedFile[]): string[] =>
  files.length > MOST_FILES ? [`… and ${files.length - MOST_FILES} more files: git status shows them`] : [];
