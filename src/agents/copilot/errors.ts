/** What an error of Copilot means for the session. */
import type { FailedKind, TurnEnd } from "../../run/event.js";

export interface CopilotError {
  errorType?: string;
  errorCode?: string;
  statusCode?: number;
  message?: string;
}

const LIMIT = /usage limit|quota|weekly|limit reached/i;
const TOO_LONG = /context.?length|prompt is too long|maximum context|exceeds the (?:context|limit)/i;

export function failedKind({ errorType = "", errorCode = "", statusCode = 0, message = "" }: CopilotError): FailedKind {
  if (errorType === "authentication" || errorType === "authorization" || statusCode === 401 || statusCode === 403)
    return "auth";
  if (errorType === "quota") return "limit";
  if (errorType === "rate_limit" || statusCode === 429) return LIMIT.test(errorCode + message) ? "limit" : "api";
  if (statusCode === 404 || /model.{0,40}not.?(?:found|supported|available)/i.test(message)) return "model";
  if (statusCode >= 500 || statusCode === 408) return "api";
  if (statusCode >= 400) return "request";
  return /connect|network|socket|timed? ?out|terminated|ECONN|fetch failed/i.test(message) ? "api" : "other";
}

export function failedEnd(error: CopilotError): TurnEnd {
  const { errorType, message = "it failed without a word" } = error;
  if (errorType === "context_limit" || TOO_LONG.test(message)) return { type: "too-long" };
  return { type: "failed", kind: failedKind(error), message };
}
