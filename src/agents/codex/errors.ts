/** What an error of Codex means for the session. */
import type { FailedKind, TurnEnd } from "../../run/event.js";

export interface CodexError {
  message?: string;
  /** A word, or a word with a status code in it. */
  codexErrorInfo?: string | Record<string, { httpStatusCode?: number | null } | null> | null;
}

const KINDS: Record<string, FailedKind> = {
  usageLimitExceeded: "limit",
  responseTooManyFailedAttempts: "api",
  internalServerError: "api",
  serverOverloaded: "api",
  responseStreamConnectionFailed: "api",
  responseStreamDisconnected: "api",
  unauthorized: "auth",
  modelNotFound: "model",
  badRequest: "request",
};

function infoOf({ codexErrorInfo }: CodexError): { name: string; status: number | undefined } {
  if (typeof codexErrorInfo === "string") return { name: codexErrorInfo, status: undefined };
  const [name = "", detail] = Object.entries(codexErrorInfo ?? {})[0] ?? [];
  return { name, status: detail?.httpStatusCode ?? undefined };
}

export function failedKind(error: CodexError): FailedKind {
  const { name, status } = infoOf(error);
  const said = error.message ?? "";
  const code = status ?? Number(/\b(?:status|error|code)\D{0,12}([45]\d\d)\b/i.exec(said)?.[1] ?? Number.NaN);
  if (code === 401 || code === 403) return "auth";
  if (code === 404) return "model";
  if (KINDS[name] !== undefined) return KINDS[name];
  if (code === 429 || code >= 500) return "api";
  if (name === "httpConnectionFailed") return "api";
  return code === 400 || name === "other" ? "request" : "other";
}

/** How a turn that failed ended. `until`: when the limit that was reached is lifted, if that was told. */
export function failedEnd(error: CodexError, until: Date | undefined): TurnEnd {
  const message = error.message ?? "it failed without a word";
  if (infoOf(error).name === "contextWindowExceeded") return { type: "too-long" };
  const kind = failedKind(error);
  return { type: "failed", kind, message, ...(kind === "limit" ? { until: until?.toISOString() } : {}) };
}
