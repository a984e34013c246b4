/** A file that a phase changed, as git sees it. */
export interface ChangedFile {
  path: string;
  kind: "A" | "M" | "D" | "T" | "R";
  /** Where it was before a rename. */
  from?: string | undefined;
  /** Lines; undefined for binary files. */
  added?: number | undefined;
  removed?: number | undefined;
}
