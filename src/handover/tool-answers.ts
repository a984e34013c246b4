/** What the agent hears when it calls one of Segno's tools. */
export const TOOL_ANSWERS = {
  recorded: "Recorded.",
  noSuchTask: (task: string, known: readonly string[]): string =>
    `Recorded as a note. There is no task ${task} in this phase; its tasks are: ${known.join(", ")}.`,
  verdict: "Recorded. Stop now.",
  noVerdict: "Only a session that verifies hands in a verdict.",
  onlyVerdict: "Nothing was recorded: this session only judges. Call verdict.",
  saved: "Saved. Stop now: a fresh session goes on from here.",
  result: "Recorded. Stop now: Segno runs the gates.",
  undermined: (found: readonly string[]): string =>
    `Not recorded yet. What judges this phase was changed, and the phase does not ask for it:\n${found.map((text) => `- ${text}`).join("\n")}\nTake it back; or, if it had to be, call phase_result again and say in \`explanation\` why.`,
  split: "Recorded. Stop now: Segno splits the phase.",
  noSplitNow: "only a phase that is being worked on or repaired can be split. Bring together what is named above.",
  notRecorded: (problem: string): string => `Nothing was recorded: ${problem}`,
} as const;
