/** A plan in Segno's own form, written from an outline: a master file, and a file per phase. */
import { BLANK } from "./blank.js";
import type { Outline, OutlinePhase, OutlineTask } from "./model.js";

export interface NewGate {
  name: string;
  command: string;
}

/** An outline with nothing but blanks. */
export const blankOutline = (phases: number): Outline => ({
  title: `${BLANK}: the plan`,
  goal: BLANK,
  phases: Array.from({ length: phases }, () => ({
    title: BLANK,
    line: 1,
    text: BLANK,
    tasks: [1, 2].map(() => ({ title: BLANK, details: "", ticked: false })),
    criteria: [BLANK],
  })),
});

/** Files by path: `NAME.md`, and `name/phase-1.md` and so on. */
export function newPlan(name: string, { title, goal, phases }: Outline, gates: readonly NewGate[]): [string, string][] {
  const folder = name.toLowerCase();
  const rows = phases.map(
    (phase, n) => `| ${n + 1} | [${inCell(phase.title)}](${folder}/phase-${n + 1}.md) | ${statusOf(phase)} |`,
  );
  const overview = goal === "" ? "" : `## Overview\n\n${goal}\n\n`;
  const master = `# ${oneLine(title)}\n\n${overview}## Phases\n\n| Phase | Title | Status |\n|-------|-------|--------|\n${rows.join("\n")}\n`;
  return [
    [`${name}.md`, master],
    ...phases.map((phase, n): [string, string] => [`${folder}/phase-${n + 1}.md`, phaseFile(phase, n + 1, gates)]),
  ];
}

const statusOf = ({ tasks }: OutlinePhase): string => (tasks.every(({ ticked }) => ticked) ? "Completed" : "Pending");

const oneLine = (text: string): string => text.replaceAll(/\s+/g, " ").trim();
const inCell = (text: string): string => oneLine(text).replaceAll(/[\\|[\]]/g, "\\$&");

function phaseFile(phase: OutlinePhase, n: number, gates: readonly NewGate[]): string {
  const { title, text, tasks, criteria } = phase;
  const depends = n === 1 ? "None" : `[Phase ${n - 1}](phase-${n - 1}.md)`;
  const section = (heading: string, body: string): string[] => (body === "" ? [] : [`## ${heading}\n\n${body}`]);
  return `${[
    `# Phase ${n}: ${oneLine(title)}`,
    `**Status:** ${statusOf(phase)}\n**Depends On:** ${depends}`,
    ...section("Overview", text),
    ...section(
      "Gates",
      gates
        .map(({ name, command }) => `- ${name}: passes (command: ${command === BLANK ? BLANK : `\`${command}\``})`)
        .join("\n"),
    ),
    ...section("Tasks", tasks.map((task, index) => taskText(task, `${n}.${index + 1}`)).join("\n")),
    ...section("Acceptance Criteria", criteria.map((criterion) => `- ${oneLine(criterion)}`).join("\n")),
  ].join("\n\n")}\n`;
}

function taskText({ title, details, ticked }: OutlineTask, id: string): string {
  const below = details === "" ? [] : details.split("\n").map((line) => (line.trim() === "" ? "" : `  ${line}`));
  return [`- [${ticked ? "x" : " "}] ${id}: ${oneLine(title)}`, ...below].join("\n");
}
