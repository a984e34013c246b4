/** What Segno itself saw happen in a phase, folded from its events. Never what an agent says about it. */
import type { BlobRef, Fact } from "../run/event.js";

export interface Ledger {
  progress: { message: string; task: string | undefined; session: string }[];
  decisions: string[];
  commits: { sha: string; partial: boolean; files: number }[];
  /** The newest gate results, by gate. */
  gates: Map<string, { name: string; passed: boolean; why: string; output: string }>;
  /** The newest run of each kind of command (its first two words), and whether it succeeded. */
  commands: Map<string, { command: string; ok: boolean }>;
  /** What sub-agents were asked, once they had finished. */
  subagents: string[];
  /** Tool calls that failed, newest last. */
  errors: string[];
  answers: { question: string; answer: string }[];
  /** What the newest sessions handed over, newest last. */
  checkpoints: { session: string; handed: BlobRef }[];
  /** Why the newest session ended. */
  lastEnd: { session: string; reason: string } | undefined;
  /** Tool calls that finished after the last report: what was done, or half done, when a session was cut off. */
  unreported: { tool: string; brief: string }[];
  /** How many of them belong to the newest model call. */
  sinceCall: number;
  /** The agent's own words about the finished phase, and all it said in its last turn. */
  summary: string;
  answer: BlobRef | undefined;
  filesModified: string[];
}

const MOST_UNREPORTED = 12;
const MOST_KEPT = 40;
const MOST_ERRORS = 5;

export const emptyLedger = (): Ledger => ({
  progress: [],
  decisions: [],
  commits: [],
  gates: new Map(),
  commands: new Map(),
  subagents: [],
  errors: [],
  answers: [],
  checkpoints: [],
  lastEnd: undefined,
  unreported: [],
  sinceCall: 0,
  summary: "",
  answer: undefined,
  filesModified: [],
});

export function recordFact(ledger: Ledger, fact: Fact): void {
  switch (fact.type) {
    case "progress-reported":
      keep(ledger.progress, { message: fact.message, task: fact.task, session: fact.session }, 500);
      // The calls of the message that carries a report belong to what comes next, and finish after it.
      ledger.unreported = ledger.sinceCall === 0 ? [] : ledger.unreported.slice(-ledger.sinceCall);
      break;
    case "call-made":
      if (!fact.subagent) ledger.sinceCall = 0;
      break;
    case "tool-finished":
      if (!fact.subagent) toolFinished(ledger, fact);
      break;
    case "decision-recorded":
      if (!ledger.decisions.includes(fact.text)) keep(ledger.decisions, fact.text, MOST_KEPT);
      break;
    case "checkout-remade":
      // What was seen since the last report is not there any more, and neither is what was reported and lost.
      ledger.unreported = [];
      ledger.sinceCall = 0;
      ledger.progress = ledger.progress.filter(({ task }) => task === undefined || !fact.lost.includes(task));
      break;
    case "commit-made":
      keep(ledger.commits, { sha: fact.sha, partial: fact.kind === "handover", files: fact.files }, MOST_KEPT);
      break;
    case "gate-finished":
      ledger.gates.set(fact.gate, {
        name: fact.name,
        passed: fact.passed,
        why: fact.why,
        output: fact.output,
      });
      break;
    case "question-asked":
      keep(ledger.answers, { question: fact.text, answer: "" }, MOST_KEPT);
      break;
    case "question-answered": {
      const asked = ledger.answers.findLast((entry) => entry.answer === "");
      if (asked !== undefined) asked.answer = `${fact.choice} (${fact.by})`;
      break;
    }
    case "checkpoint-reported":
    case "checkpoint-saved": {
      const { session, handed } = fact;
      if (handed === undefined) break;
      // One of each session: what it handed over last.
      if (ledger.checkpoints.at(-1)?.session === session) ledger.checkpoints.pop();
      keep(ledger.checkpoints, { session, handed }, MOST_KEPT);
      break;
    }
    case "session-ended":
      ledger.lastEnd = { session: fact.session, reason: fact.reason };
      break;
    case "turn-ended":
      if (fact.said !== undefined) ledger.answer = fact.said;
      break;
    case "result-reported":
      ledger.summary = fact.result.summary;
      ledger.filesModified = fact.result.files_modified;
      for (const decision of fact.result.decisions)
        if (!ledger.decisions.includes(decision)) keep(ledger.decisions, decision, MOST_KEPT);
      break;
    default:
      break;
  }
}

function toolFinished(ledger: Ledger, { kind, tool, brief, ok }: Extract<Fact, { type: "tool-finished" }>): void {
  if (kind === "segno") return;
  if (kind === "shell" && brief !== "") {
    const first = brief.split(/\s+/).slice(0, 2).join(" ");
    ledger.commands.delete(first);
    ledger.commands.set(first, { command: brief, ok });
    if (ledger.commands.size > MOST_KEPT) ledger.commands.delete(ledger.commands.keys().next().value ?? "");
  }
  if (!ok) {
    keep(ledger.errors, `${tool} ${brief}`.trim(), MOST_ERRORS);
    return;
  }
  if (kind === "agent") keep(ledger.subagents, brief, MOST_KEPT);
  ledger.unreported = [...ledger.unreported, { tool, brief }].slice(-MOST_UNREPORTED);
  ledger.sinceCall++;
}

function keep<T>(list: T[], value: T, most: number): void {
  list.push(value);
  if (list.length > most) list.shift();
}

/** Whether a session reported anything: where none did, git is all there is to lean on. */
export const reportedIn = (ledger: Ledger, session: string): boolean =>
  ledger.progress.some((entry) => entry.session === session);
