interface Named {
  id: string;
  title: string;
}

const listed = (tasks: readonly Named[]): string => tasks.map(({ id, title }) => `- ${id} ${title}`).join("\n");

/** What the agent hears when it calls one of Segno's tools. */
export const TOOL_ANSWERS = {
  recorded: "Recorded.",
  noSuchTask: (task: string, known: readonly Named[]): string =>
    `Recorded as a note. There is no task ${task} in this phase; its tasks are:\n${listed(known)}`,
  /** What is neither reported nor named: asked about in the same session, once. */
  unaccounted: (missing: readonly Named[]): string =>
    `Not recorded yet. Neither reported as finished nor named as remaining:\n${listed(missing)}\nFinish and report them, and call phase_result again; or name them in tasks_remaining and say in \`explanation\` why.`,
  unfinished: (remaining: readonly Named[]): string =>
    `Not recorded yet. The status is completed, but these are named as remaining:\n${listed(remaining)}\nFinish them first; or call phase_result again and say in \`explanation\` why the phase is complete without them.`,
  notNow: "Not now: this session hands over here, before the next task begins. Nothing was done.",
  savedAll: (tool: string): string => `Saved. All tasks are reported: call ${tool} now, and then stop.`,
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
