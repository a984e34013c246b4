/** What the next session is told: the agent's own summary, audited, and under it what the ledger and git say. */
import type { Task } from "../plan/model.js";
import type { ToolInput } from "../tools/tools.js";
import { bulletList, clip } from "./bounded.js";
import type { Ledger } from "./ledger.js";

export type Claims = ToolInput<"checkpoint">;

export interface FileChange {
  path: string;
  kind: "A" | "M" | "D" | "T";
}

const MOST_FILES = 20;
const MOST_ITEMS = 12;
const KIND_WORDS = { A: "new", M: "changed", D: "deleted", T: "type changed" } as const;

export interface CheckpointView {
  claims: Claims | undefined;
  ledger: Ledger;
  files: readonly FileChange[];
  tasks: readonly Task[];
  tasksDone: readonly string[];
}

export function renderCheckpoint(view: CheckpointView): string {
  return [...(view.claims === undefined ? [] : [renderClaims(view.claims)]), renderLedger(view)].join("\n\n");
}

function renderClaims(claims: Claims): string {
  const parts = ["### What the previous session says", `Goal: ${clip(claims.goal, 500)}`];
  const lists: [string, string[]][] = [
    ["Completed work", claims.completed],
    ["Remaining, in order", claims.remaining],
    ["Do not redo", claims.do_not_redo],
    ["Decisions and constraints", claims.decisions],
  ];
  for (const [title, items] of lists) if (items.length > 0) parts.push(`${title}:\n${bulletList(items, MOST_ITEMS)}`);
  return parts.join("\n\n");
}

/** What a session that was cut off did after its last report: the next one should look before it repeats it. */
export function unreportedWork({ unreported }: Ledger): string {
  if (unreported.length === 0) return "";
  const calls = unreported.map(({ tool, brief }) => `${tool} ${brief}`.trim());
  return `Tool calls that finished after the last report, newest last (look before you repeat them):\n${bulletList(calls, calls.length)}`;
}

function renderLedger({ ledger, files, tasks, tasksDone }: CheckpointView): string {
  const done = new Set(tasksDone);
  const remaining = tasks.filter((task) => !done.has(task.id));
  const parts = ["### What Segno saw itself (trust this where the two differ)"];
  parts.push(`${tasks.length - remaining.length} of ${tasks.length} tasks are reported as done.`);
  if (remaining.length > 0) parts.push(`Tasks left: ${remaining.map((task) => task.id).join(", ")}.`);
  const notes = ledger.progress.filter((entry) => entry.task === undefined).map((entry) => entry.message);
  if (notes.length > 0) parts.push(`Progress notes, newest last:\n${bulletList(notes.slice(-MOST_ITEMS), MOST_ITEMS)}`);
  if (ledger.decisions.length > 0) parts.push(`Decisions recorded:\n${bulletList(ledger.decisions, MOST_ITEMS)}`);
  const unreported = unreportedWork(ledger);
  if (unreported !== "") parts.push(unreported);
  const failing = [...ledger.gates.values()].filter((gate) => !gate.passed);
  if (failing.length > 0)
    parts.push(
      `Gates that failed last time:\n${bulletList(
        failing.map((gate) => `${gate.name}: ${gate.why}`),
        MOST_ITEMS,
      )}`,
    );
  parts.push(
    files.length === 0
      ? "Git shows no changed file in this phase so far."
      : `Files changed in this phase, according to git (do not recreate them, review them first):\n${bulletList(
          files.map((file) => `${file.path} (${KIND_WORDS[file.kind]})`),
          MOST_FILES,
        )}`,
  );
  return parts.join("\n\n");
}
