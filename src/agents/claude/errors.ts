/** What an error of Claude Code means for the session. */
import type { SDKAssistantMessageError } from "@anthropic-ai/claude-agent-sdk";
import type { FailedKind } from "../../run/event.js";

const KINDS: Partial<Record<SDKAssistantMessageError, FailedKind>> = {
  authentication_failed: "auth",
  oauth_org_not_allowed: "auth",
  account_on_hold: "auth",
  verification_required: "auth",
  billing_error: "auth",
  cloud_credential_error: "auth",
  model_not_found: "model",
  rate_limit: "api",
  overloaded: "api",
  server_error: "api",
  invalid_request: "request",
};

export function failedKind(error: SDKAssistantMessageError | undefined, status: number | null | undefined): FailedKind {
  const known = error === undefined ? undefined : KINDS[error];
  if (known !== undefined) return known;
  if (status === 401 || status === 403) return "auth";
  if (status === 404) return "model";
  if (status === 429 || (status ?? 0) >= 500) return "api";
  // No status at all is a connection that failed.
  return status === null || status === undefined ? "api" : "request";
}

export const isLimitText = (text: string): boolean =>
  /(hit|reached) your .*limit|usage limit reached|limit\b.*\bresets\b/i.test(text);

/** When a limit is lifted, from words like "resets 4:27am (UTC)" or "limit reached|1794803278"; undefined if unclear. */
export function resetOf(text: string, now: Date): Date | undefined {
  const epoch = /\|(\d{10})\b/.exec(text)?.[1];
  if (epoch !== undefined) return new Date(Number(epoch) * 1_000);
  const time = /resets?\s+(?:at\s+)?(\d{1,2})(?::(\d{2}))?\s*(am|pm)?(?:\s*\(([^)]+)\))?/i.exec(text);
  if (time === null || (time[4] !== undefined && !/^utc$/i.test(time[4]))) return undefined;
  const half = time[3]?.toLowerCase();
  const hour = (Number(time[1]) % (half === undefined ? 24 : 12)) + (half === "pm" ? 12 : 0);
  const at = new Date(now);
  if (time[4] === undefined) at.setHours(hour, Number(time[2] ?? 0), 0, 0);
  else at.setUTCHours(hour, Number(time[2] ?? 0), 0, 0);
  if (at <= now) at.setDate(at.getDate() + 1);
  return at;
}

/** How large the window really is, from "prompt is too long: 210000 tokens > 200000 maximum". */
export function windowIn(text: string): number | undefined {
  const most = /prompt is too long: [\d,]+ tokens? > ([\d,]+)/i.exec(text)?.[1];
  return most === undefined ? undefined : Number(most.replaceAll(",", ""));
}
