/** Where runs live on one machine. Nobody outside this folder knows. */
import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";

/** What all runs of a checkout share: locks, what was learned. */
export const sharedFolder = (top: string): string => join(top, ".segno");

export const runsFolder = (top: string): string => join(sharedFolder(top), "runs");

export const runFolder = (top: string, run: string): string => join(runsFolder(top), run);

/** What is in another checkout of the same repository leads to this one's, so that there is one journal. */
export function shareRuns(top: string, checkout: string): void {
  mkdirSync(runsFolder(top), { recursive: true });
  // Where the configuration is committed, the folder is there already.
  if (!existsSync(sharedFolder(checkout))) symlinkSync(sharedFolder(top), sharedFolder(checkout));
  else symlinkSync(runsFolder(top), runsFolder(checkout));
}

export const journalPath = (folder: string): string => join(folder, "journal.jsonl");
