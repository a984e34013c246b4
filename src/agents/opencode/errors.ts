/** What an error of opencode means for the session. */
import type { FailedKind, TurnEnd } from "../../run/event.js";

export interface OpencodeError {
  name?: string;
  data?: {
    message?: string;
    statusCode?: number;
    responseHeaders?: Record<string, string>;
    responseBody?: string;
  };
}

const LIMIT = /usage limit|quota|insufficient[_ ]quota|free usage exceeded/i;
/** A wait of the agent's own that is longer than this is a limit, not a retry. */
const LONG_WAIT_MS = 10 * 60_000;

export function failedKind({ name, data = {} }: OpencodeError): FailedKind {
  const { statusCode: status = 0, message = "", responseBody = "" } = data;
  if (name === "ProviderAuthError" || status === 401 || status === 403) return "auth";
  if (/model.{0,20}not.?found/i.test(`${name} ${message}`) || status === 404) return "model";
  if (status === 429) return LIMIT.test(message + responseBody) ? "limit" : "api";
  if (status >= 500 || status === 408) return "api";
  if (status >= 400) return "request";
  return /connect|network|socket|timed? ?out|terminated|ECONN|fetch failed/i.test(message) ? "api" : "other";
}

const TOO_LONG = /context.?length|prompt is too long|maximum context|exceeds the context/i;

/** How a turn that failed ended. */
export function failedEnd(error: OpencodeError, now: number): TurnEnd {
  const { message = "it failed without a word", responseBody = "", responseHeaders = {} } = error.data ?? {};
  if (error.name === "ContextOverflowError" || TOO_LONG.test(message + responseBody)) {
    const window = Number(/> (\d+) maximum/.exec(message + responseBody)?.[1] ?? Number.NaN);
    return { type: "too-long", ...(Number.isNaN(window) ? {} : { window }) };
  }
  const kind = failedKind(error);
  const seconds = Number(responseHeaders["retry-after"] ?? Number.NaN);
  const until = kind === "limit" && seconds > 0 ? new Date(now + seconds * 1_000).toISOString() : undefined;
  return { type: "failed", kind, message, ...(kind === "limit" ? { until } : {}) };
}

/** A retry that it announces: what it is about, and how the turn ends if it is one too many. */
export function retryOf(
  { message = "", next = 0 }: { message?: string; next?: number },
  now: number,
): { kind: FailedKind; end: TurnEnd } {
  const isLimit = LIMIT.test(message) || next - now > LONG_WAIT_MS;
  const kind = isLimit ? "limit" : failedKind({ data: { message, statusCode: statusIn(message) } });
  const until = isLimit && next > now ? new Date(next).toISOString() : undefined;
  return {
    kind: kind === "other" || kind === "request" ? "api" : kind,
    end: { type: "failed", kind: isLimit ? "limit" : "api", message, ...(isLimit ? { until } : {}) },
  };
}

const statusIn = (message: string): number => Number(/\b([45]\d\d)\b/.exec(message)?.[1] ?? 0);
