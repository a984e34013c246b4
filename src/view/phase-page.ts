/** Everything about one phase, for the page that shows it: folded from the whole journal when it is asked for. */
import type { BlobRef, CriterionVerdict, RunEvent, Usage } from "../run/event.js";
import { addUsage } from "../run/usage.js";

export interface SessionDetail {
  id: string;
  purpose: string;
  startedAt: string;
  endedAt: string | undefined;
  reason: string | undefined;
  message: string | undefined;
  agent: string | undefined;
  model: string | undefined;
  prompt: BlobRef;
  promptTokens: number;
  usage: Usage;
  calls: number;
  /** Why it was stopped, in the policy's words. */
  boundary: string | undefined;
  /** As the next session read it. */
  checkpoint: { text: BlobRef; source: string; tokens: number; contradictions: string[] } | undefined;
}

export interface ToolDetail {
  at: string;
  session: string;
  tool: string;
  brief: string;
  ok: boolean;
}

export interface PhaseDetail {
  id: string;
  sessions: SessionDetail[];
  tools: ToolDetail[];
  progress: { at: string; message: string; task: string | undefined }[];
  decisions: { at: string; text: string }[];
  gates: { at: string; name: string; passed: boolean; why: string; ms: number; output: BlobRef; round: number }[];
  commits: { at: string; sha: string; kind: string; files: number; leftOut: string[]; stat?: string | undefined }[];
  verdicts: CriterionVerdict[];
  suspicions: string[];
}

export function phaseDetail(events: readonly RunEvent[], id: string): PhaseDetail {
  const sessions = new Map<string, SessionDetail>();
  const detail: PhaseDetail = {
    id,
    sessions: [],
    tools: [],
    progress: [],
    decisions: [],
    gates: [],
    commits: [],
    verdicts: [],
    suspicions: [],
  };
  for (const event of events) {
    if (!("phase" in event) || event.phase !== id) continue;
    const { at } = event;
    const session = "session" in event && event.session !== undefined ? sessions.get(event.session) : undefined;
    switch (event.type) {
      case "session-started":
        sessions.set(event.session, {
          id: event.session,
          purpose: event.purpose,
          startedAt: at,
          endedAt: undefined,
          reason: undefined,
          message: undefined,
          agent: event.agent,
          model: undefined,
          prompt: event.prompt,
          promptTokens: event.promptTokens,
          usage: { input: 0, cacheRead: 0, cacheWrite: 0, output: 0 },
          calls: 0,
          boundary: undefined,
          checkpoint: undefined,
        });
        break;
      case "session-ready":
        if (session !== undefined) session.model = event.model;
        break;
      case "call-made":
        if (session !== undefined) count(session, event.usage);
        break;
      case "boundary-decided":
        if (session !== undefined) session.boundary = event.reason;
        break;
      case "checkpoint-saved": {
        const { checkpoint: text, source, tokens, contradictions } = event;
        if (session !== undefined) session.checkpoint = { text, source, tokens, contradictions };
        break;
      }
      case "session-ended":
        if (session !== undefined)
          Object.assign(session, { endedAt: at, reason: event.reason, message: event.message });
        break;
      case "tool-finished":
        detail.tools.push({ at, session: event.session, tool: event.tool, brief: event.brief, ok: event.ok });
        break;
      case "progress-reported":
        detail.progress.push({ at, message: event.message, task: event.task });
        break;
      case "decision-recorded":
        detail.decisions.push({ at, text: event.text });
        break;
      case "gate-finished": {
        const { name, passed, why, ms, output, round } = event;
        detail.gates.push({ at, name, passed, why, ms, output, round });
        break;
      }
      case "commit-made":
        detail.commits.push({ at, sha: event.sha, kind: event.kind, files: event.files, leftOut: event.leftOut });
        break;
      case "phase-merged":
        detail.commits.push({
          at,
          sha: event.sha,
          kind: "merge",
          files: event.files.length,
          leftOut: event.leftBehind,
        });
        break;
      case "verdict-reported":
        detail.verdicts = event.verdicts;
        break;
      case "phase-inspected":
        detail.suspicions = event.suspicions.map(({ text }) => text);
        break;
      default:
        break;
    }
  }
  detail.sessions = [...sessions.values()];
  return detail;
}

function count(session: SessionDetail, usage: Usage): void {
  session.calls++;
  session.usage = addUsage(session.usage, usage);
}
