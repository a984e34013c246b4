/** What Segno itself saw happen in a phase, folded from its events. */
import type { BlobRef, Fact } from "../run/event.js";

export interface Ledger {
  progress: { message: string; task: string | undefined }[];
  decisions: string[];
  commits: { sha: string; partial: boolean }[];
  /** The newest gate results, by gate. */
  gates: Map<string, { name: string; passed: boolean; why: string }>;
  /** The checkpoint of the newest session that left one. */
  checkpoint: { session: string; ref: BlobRef } | undefined;
  /** Why the newest session ended. */
  lastEnd: { session: string; reason: string } | undefined;
  /** Tool calls that finished after the last report: what was done, or half done, when a session was cut off. */
  unreported: { tool: string; brief: string }[];
  /** How many of them belong to the newest model call. */
  sinceCall: number;
  /** The agent's own words about the finished phase. */
  summary: string;
}

const MOST_UNREPORTED = 12;

export const emptyLedger = (): Ledger => ({
  progress: [],
  decisions: [],
  commits: [],
  gates: new Map(),
  checkpoint: undefined,
  lastEnd: undefined,
  unreported: [],
  sinceCall: 0,
  summary: "",
});

export function recordFact(ledger: Ledger, fact: Fact): void {
  switch (fact.type) {
    case "progress-reported":
      ledger.progress.push({ message: fact.message, task: fact.task });
      // The calls of the message that carries a report belong to what comes next, and finish after it.
      ledger.unreported = ledger.sinceCall === 0 ? [] : ledger.unreported.slice(-ledger.sinceCall);
      break;
    case "call-made":
      if (!fact.subagent) ledger.sinceCall = 0;
      break;
    case "tool-finished":
      if (fact.subagent || !fact.ok || fact.tool.startsWith("mcp__segno__")) break;
      ledger.unreported = [...ledger.unreported, { tool: fact.tool, brief: fact.brief }].slice(-MOST_UNREPORTED);
      ledger.sinceCall++;
      break;
    case "decision-recorded":
      ledger.decisions.push(fact.text);
      break;
    case "commit-made":
      ledger.commits.push({ sha: fact.sha, partial: fact.kind === "handover" });
      break;
    case "gate-finished":
      ledger.gates.set(fact.gate, { name: fact.name, passed: fact.passed, why: fact.why });
      break;
    case "checkpoint-saved":
      ledger.checkpoint = { session: fact.session, ref: fact.checkpoint };
      break;
    case "session-ended":
      ledger.lastEnd = { session: fact.session, reason: fact.reason };
      break;
    case "result-reported":
      ledger.summary = fact.result.summary;
      break;
    default:
      break;
  }
}
