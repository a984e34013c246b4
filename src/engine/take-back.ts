/** What an earlier attempt left and was set aside comes back to where the phase works. */
import { bringBack } from "../git/aside.js";
import type { Git } from "../git/git.js";
import type { Attempt } from "../run/phase.js";
import type { HeldRun } from "./held-run.js";

export async function takeBack(
  { run }: HeldRun,
  phase: string,
  { number: attempt, progress, commits }: Pick<Attempt, "number" | "progress" | "commits">,
  git: Git,
): Promise<void> {
  const { aside } = commits;
  if (aside === undefined) return;
  const { conflicts } = await bringBack(git, { base: `${aside}^`, theirs: aside });
  if (conflicts.length === 0) return;
  const files = conflicts.slice(0, 10).join(", ");
  const text = `What an earlier attempt left in ${files} does not fit what came since, and is not in the working tree: git show ${aside.slice(0, 12)} shows it.`;
  run.warn(text, phase);
  // The next session is told.
  run.append({ type: "decision-recorded", phase, attempt, session: progress.sessions.at(-1) ?? "", text });
}
