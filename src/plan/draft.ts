/** A phase as a format reads it: the phase, and where its marks stand in the file it was read from. */

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
