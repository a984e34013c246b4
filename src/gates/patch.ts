/** A patch, line by line, with the numbers that a person would look for. */
export interface PatchLine {
  file: string;
  /** In the file as it is now; of a removed line, where it was in the one before. */
  line: number;
  text: string;
}

/** What was taken out and put in at one place. */
export interface Hunk {
  removed: PatchLine[];
  added: PatchLine[];
}

export function hunksOf(patch: string): Hunk[] {
  const hunks: Hunk[] = [];
  let [file, before] = ["", ""];
  let [old, now] = [0, 0];
  let hunk: Hunk | undefined;
  for (const text of patch.split("\n")) {
    const at = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(text);
    if (at !== null) {
      [old, now] = [Number(at[1]), Number(at[2])];
      hunk = { removed: [], added: [] };
      hunks.push(hunk);
    } else if (text.startsWith("diff --git ")) hunk = undefined;
    else if (text.startsWith("--- ") && hunk === undefined) before = nameIn(text);
    else if (text.startsWith("+++ ") && (hunk === undefined || hunk.added.length + hunk.removed.length === 0)) {
      file = nameIn(text) === "/dev/null" ? before : nameIn(text);
      hunk = undefined;
    } else if (hunk === undefined) continue;
    else if (text.startsWith("+")) hunk.added.push({ file, line: now++, text: text.slice(1) });
    else if (text.startsWith("-")) hunk.removed.push({ file, line: old++, text: text.slice(1) });
    else if (text.startsWith(" ")) {
      old++;
      now++;
    }
  }
  return hunks;
}

const nameIn = (text: string): string =>
  text
    .slice(4)
    .replace(/\t.*$/, "")
    .replace(/^[ab]\//, "");
