import { commitChanges } from "../../git/commit.js";
import type { Plan } from "../../plan/model.js";
import { markPlanFile } from "../../plan/write-back.js";
import { type Attempt, isAttempt, phaseOf, stateOfPhase } from "../../run/state.js";
import type { Performer } from "../performer.js";
import type { World } from "../world.js";

/** Commits what the phase changed; with the last commit of a phase go the marks in the plan. */
export const commit: Performer<"commit"> = async (world, { id, phase, attempt, kind }) => {
  const { run, git } = world;
  const { plan } = run.state;
  const state = stateOfPhase(run.state, phase);
  if (!isAttempt(state)) throw new Error(`phase ${phase} has no attempt`);
  await reportPlanEdits(world, phase, state);
  const marked = kind === "phase" ? await markPlan(world, phase, state) : new Map<string, string>();
  const outcome = await commitChanges(git, {
    message: `Segno: Phase ${phase} - ${phaseOf(run.state, phase).title} ${kind === "phase" ? "✓" : "⚠️ partial"}`,
    run: run.state.run,
    command: id,
    trailers: [
      ["Segno-Phase", phase],
      ["Segno-Attempt", String(attempt)],
      ["Co-Authored-By", `Claude (${modelOf(world, state)}) <noreply@anthropic.com>`],
    ],
    baseline: state.baseline,
    head: state.head,
    staged: state.staged,
    plan: { files: plan.files, marked },
  });
  switch (outcome.type) {
    case "made":
      run.append({
        type: "commit-made",
        command: id,
        phase,
        attempt,
        kind,
        sha: outcome.sha,
        files: outcome.files,
        leftOut: outcome.leftOut,
      });
      return;
    case "nothing":
      run.append({ type: "commit-skipped", command: id, phase, attempt, kind, why: "nothing changed" });
      return;
    case "failed":
      run.append({
        type: "commit-failed",
        command: id,
        phase,
        attempt,
        kind,
        category: "agent_error",
        why: outcome.why,
      });
      return;
    default:
      outcome satisfies never;
  }
};

const modelOf = ({ run }: World, { sessions }: Attempt): string =>
  run.state.sessions.get(sessions.at(-1) ?? "")?.model ?? run.state.config.model ?? "default model";

/**
 * Marks the plan in the working tree, and makes the committed version from HEAD's: an edit the agent or the user made
 * in the file stays where it is, uncommitted.
 */
async function markPlan(world: World, phase: string, state: Attempt): Promise<Map<string, string>> {
  const { run, git } = world;
  const { plan } = run.state;
  const marks = { phase, status: "done" as const, tasksDone: state.tasksDone };
  const marked = new Map<string, string>();
  for (const file of filesToMark(plan, phase)) {
    const current = world.readPlanFile(file);
    if (current !== undefined) {
      const next = markPlanFile(plan, file, current, marks);
      if (next !== current) world.writePlanFile(file, next);
    }
    const committed = await git.attempt(["cat-file", "blob", `HEAD:${file}`]);
    if (committed.ok) marked.set(file, markPlanFile(plan, file, committed.stdout, marks));
  }
  return marked;
}

const filesToMark = (plan: Plan, phase: string): string[] => [
  ...new Set([plan.file, plan.phases.find((candidate) => candidate.id === phase)?.file ?? plan.file]),
];

/** An agent's edit to a plan file changes nothing: the run's plan is frozen. It is said, and left out of the commit. */
async function reportPlanEdits({ run, git, readPlanFile }: World, phase: string, state: Attempt): Promise<void> {
  const { plan } = run.state;
  if (run.ledger(phase).planEdited) return;
  const files: string[] = [];
  for (const file of plan.files) {
    const before = await git.attempt(["cat-file", "blob", `${state.baseline}:${file}`]);
    const now = readPlanFile(file);
    if (!before.ok || now === before.stdout) continue;
    // After an interrupted commit the marks are already there, and they are ours.
    const ours = markPlanFile(plan, file, before.stdout, { phase, status: "done", tasksDone: state.tasksDone });
    if (now !== ours) files.push(file);
  }
  if (files.length > 0) run.append({ type: "plan-edited-by-agent", phase, attempt: state.attempt, files });
}
