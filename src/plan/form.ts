/** One form that plans are written in: how it is recognised, how it is read, and where its marks stand. */
import type { Document } from "./document.js";
import type { FormRead } from "./draft.js";
import type { Sites } from "./mark-sites.js";
import type { FormatName, Plan, PlanOptions, ReadPlanFile } from "./model.js";

export interface Form {
  name: FormatName;
  /** What is looked for, for whoever wrote something else. */
  looksFor: string;
  /** `read`: what stands beside the document may tell. */
  fits(document: Document, read: ReadPlanFile): boolean;
  read(document: Document, read: ReadPlanFile, options: PlanOptions): FormRead;
  /** Where this file says something about a phase; else where reading it anew finds the phase. */
  sites?(document: Document, plan: Plan, phase: string): Sites[];
}

/** The folder a file stands in, with a slash behind it; empty at the top level. */
export const folderOf = (file: string): string => file.slice(0, file.lastIndexOf("/") + 1);

/** A file beside the document, if it is there. */
export function besideOf({ file }: Document, read: ReadPlanFile, name: string): string | undefined {
  const text = read(folderOf(file) + name);
  return typeof text === "string" ? text : undefined;
}
