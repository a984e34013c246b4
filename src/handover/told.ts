/** What an agent is told in the middle of its work, because of something it did. */
export const TOLD = {
  branch: (what: string): string =>
    `Segno: ${what}. Segno commits for you, on one branch: stay on it, and do not switch, detach, delete or rewrite it.`,
  stash: (name: string): string =>
    `Segno: what you changed is in ${name}, and in no commit. Apply it (git stash pop), or say with the decision tool that you do not need it.`,
  files: (files: readonly string[]): string =>
    `Segno: these files of the user's were deleted, and are back: ${files.join(", ")}. Leave them alone.`,
  cleaned: (files: readonly string[]): string =>
    `Segno: git clean took files of finished tasks away that are in no commit; they are back: ${files.slice(0, 20).join(", ")}${files.length > 20 ? ", …" : ""}.`,
  remade: (tasks: readonly string[]): string => {
    const redo =
      tasks.length === 0 ? "" : ` What was reported since then is gone and must be done again: ${tasks.join(", ")}.`;
    return `Segno: your working directory was deleted, and was made again at its last commit.${redo}`;
  },
} as const;

/** In the prompt of the next session. */
export const stashNote = (names: readonly string[]): string =>
  `## In a stash\n\nAn earlier session of this phase stashed changes: ${names.join(", ")}. They are not in the working tree. Look at them first (git stash show -p), and apply what belongs here.`;
