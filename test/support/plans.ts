import type { Files } from "./scratch.js";

const MANUAL = "manual";

export interface PlannedPhase {
  id: string;
  title?: string;
  dependsOn?: string[];
  /** Titles, or the number of tasks; each task creates a file of its own. */
  tasks?: number | string[];
  /** Commands, or `manual`. */
  gates?: string[];
  status?: string;
  /** More lines under its title: `**Agent:** codex`. */
  fields?: string;
}

/** A master plan with one file per phase. */
export function planFiles(phases: readonly PlannedPhase[]): Files {
  const rows = phases.map(
    ({ id, title, status }) => `| ${id} | [${title ?? `Phase ${id}`}](plan/phase-${id}.md) | ${status ?? "Pending"} |`,
  );
  const master = `# Test plan\n\n## Overview\n\nA plan for a test.\n\n| Phase | Title | Status |\n|-------|-------|--------|\n${rows.join("\n")}\n`;
  return {
    "PLAN.md": master,
    ...Object.fromEntries(phases.map((phase) => [`plan/phase-${phase.id}.md`, phaseFile(phase)])),
  };
}

function phaseFile({ id, title, dependsOn = [], tasks = 1, gates = ["true"], status, fields }: PlannedPhase): string {
  const titles =
    typeof tasks === "number"
      ? Array.from({ length: tasks }, (_, index) => `Create \`out/${id}-${index + 1}.txt\``)
      : tasks;
  const links = dependsOn.map((other) => `[Phase ${other}](phase-${other}.md)`).join(", ");
  return `# Phase ${id}: ${title ?? `Phase ${id}`}

**Status:** ${status ?? "Pending"}
**Depends On:** ${links || "None"}${fields === undefined ? "" : `\n${fields}`}

## Gates

${gates.map((command, index) => `- gate ${index + 1}: must pass (${command === MANUAL ? MANUAL : `command: \`${command}\``})`).join("\n")}

## Tasks

${titles.map((task, index) => `- [ ] ${id}.${index + 1}: ${task}`).join("\n")}

## Acceptance Criteria

- [ ] not a task
`;
}
