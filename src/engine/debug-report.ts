/** `.segno/debug/phase-N.md`: everything about a failed phase in one place, for people and for whoever debugs it. */
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { roughTokens } from "../handover/bounded.js";
import type { BlobRef } from "../run/event.js";
import { gatesToPass } from "../run/merging.js";
import { debugReportPath } from "../run/outcome.js";
import { phaseOf, stateOfPhase } from "../run/state.js";
import { writeWhole } from "../store/atomic.js";
import { isFileSystemError } from "./file-system.js";
import type { HeldRun } from "./held-run.js";

const MOST_TOKENS = 8_000;

export async function writeDebugReport(held: HeldRun, phase: string): Promise<void> {
  const { run, top } = held;
  const state = stateOfPhase(run.state, phase);
  if (state.step !== "failed" || state.last === undefined) return;
  const { failure, last } = state;
  const { title } = phaseOf(run.state, phase);
  const ledger = run.ledger(phase);
  const commands = new Map(gatesToPass(run.state, phase, last).map(({ id, check }) => [id, check]));
  const gates = await Promise.all(
    [...ledger.gates].map(async ([id, { name, passed, why, output }]) => {
      const check = commands.get(id);
      const text = passed || output === undefined ? "" : ((await run.getBlob(output as BlobRef)) ?? "");
      const command = check?.type === "command" ? `\n\nCommand: \`${check.command}\`` : "";
      const said = text === "" ? "" : `\n\n\`\`\`\n${clipped(text)}\n\`\`\``;
      return `### ${passed ? "passed" : "FAILED"}: ${name} (${why})${command}${said}`;
    }),
  );
  const sessions = last.progress.sessions.map((id) => {
    const session = run.state.sessions.get(id);
    return `- ${id}: ${session?.purpose ?? "?"}, ${session?.calls ?? 0} calls, ended: ${session?.step === "ended" ? session.reason : "no"}`;
  });
  const text = [
    `# Phase ${phase}, ${title}: ${failure.category}`,
    failure.message,
    `Recommended: ${failure.recommendation}. Go on with: segno resume ${run.state.run}`,
    `## Gates\n\n${gates.join("\n\n") || "none was run"}`,
    `## Sessions\n\n${sessions.join("\n") || "none"}`,
    `## Tool calls that failed last\n\n${ledger.errors.map((error) => `- ${error}`).join("\n") || "none"}`,
  ].join("\n\n");
  const path = join(top, debugReportPath(phase));
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeWhole(path, `${text}\n`);
  } catch (error) {
    // It only helps.
    if (!isFileSystemError(error)) throw error;
  }
}

const clipped = (text: string): string =>
  roughTokens(text) <= MOST_TOKENS ? text.trimEnd() : `… ${text.slice(-MOST_TOKENS * 3).trimEnd()}`;
