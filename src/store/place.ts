/** Where runs live on one machine. Nobody outside this folder knows. */
import { join } from "node:path";

/** What all runs of a checkout share: locks, what was learned. */
export const sharedFolder = (top: string): string => join(top, ".segno");

export const runsFolder = (top: string): string => join(sharedFolder(top), "runs");

export const runFolder = (top: string, run: string): string => join(runsFolder(top), run);

export const journalPath = (folder: string): string => join(folder, "journal.jsonl");
