/** A phase as a format reads it: the phase, and where its marks stand in the file it was read from. */

import { findCycle } from "./graph.js";
import type { Sites } from "./mark-sites.js";
import type { Diagnostic, Phase } from "./model.js";

export interface Draft {
  phase: Phase;
  sites: Sites;
}

export interface FormRead {
  title: string;
  goal: string;
  drafts: Draft[];
  diagnostics: Diagnostic[];
  /** What is left to the user when all is done. */
  afterwards?: string | undefined;
}

/** What a format leaves open where its documents do not say. */
export const emptyPhase = (file: string, line: number, id: string, title: string, text: string): Phase => ({
  id,
  title,
  dependsOn: [],
  tasks: [],
  gates: [],
  text,
  mark: undefined,
  complexity: undefined,
  files: [],
  criteria: [],
  readFirst: [],
  file,
  line,
});

/** Documents that name no dependency at all run in the order they are written. */
export function inOrder(drafts: readonly Draft[]): void {
  for (const [index, { phase }] of drafts.entries()) {
    const before = drafts[index - 1]?.phase.id;
    phase.dependsOn = before === undefined ? [] : [before];
  }
}

/** Where what was derived goes in a circle, the order they are written in counts, and that is said. */
export function inOrderIfCircular(drafts: readonly Draft[], file: string, fix: string): Diagnostic[] {
  const cycle = findCycle(drafts.map(({ phase }) => phase));
  if (cycle === undefined) return [];
  inOrder(drafts);
  const message = `What depends on what goes in a circle (${cycle.join(" → ")}): the phases run in the order in which they are written.`;
  return [{ severity: "warning", file, line: drafts[0]?.phase.line ?? 1, message, fix }];
}
