/** What an error of an ACP agent means for the session: the protocol has codes for little, so its words must do. */
import type { FailedKind, TurnEnd } from "../../run/event.js";

export interface AcpError {
  code?: number;
  message?: string;
  data?: unknown;
}

const AUTH_REQUIRED = -32_000;
const LIMIT = /usage limit|quota|rate.?limit.{0,40}(reached|exceeded|reset)|RESOURCE_EXHAUSTED|limit reached/i;
const TOO_LONG = /context.?length|prompt is too long|maximum context|exceeds the context|input token count/i;
const NETWORK = /connect|network|socket|timed? ?out|terminated|ECONN|fetch failed|overloaded|unavailable/i;

export function failedEnd(error: AcpError, now: number): TurnEnd {
  const said = wordsOf(error);
  if (TOO_LONG.test(said)) return { type: "too-long" };
  const kind = failedKind(error.code, said);
  const until = kind === "limit" ? resetIn(said, now) : undefined;
  return { type: "failed", kind, message: said.slice(0, 2_000), ...(until === undefined ? {} : { until }) };
}

function failedKind(code: number | undefined, said: string): FailedKind {
  const status = Number(/\b([45]\d\d)\b/.exec(said)?.[1] ?? 0);
  if (code === AUTH_REQUIRED || status === 401 || status === 403 || /api key|log ?in|authenticat/i.test(said))
    return "auth";
  if (LIMIT.test(said)) return "limit";
  if (/model.{0,40}not.?found|unknown model|no such model/i.test(said) || status === 404) return "model";
  if (status === 429 || status >= 500 || status === 408) return "api";
  if (status >= 400) return "request";
  return NETWORK.test(said) ? "api" : "other";
}

function wordsOf({ message = "", data }: AcpError): string {
  const more = data === undefined || data === null ? "" : typeof data === "string" ? data : JSON.stringify(data);
  const said = more === "" || message.includes(more) ? message : `${message}: ${more}`;
  return said === "" ? "it failed without a word" : said;
}

const UNITS: Record<string, number> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** "Try again in 2h30m", "retry after 90s": when that is. */
function resetIn(said: string, now: number): string | undefined {
  const [, span] =
    /(?:retry|try again|resets?|available)[^.]{0,30}?\b(?:in|after)\s+((?:\d+(?:\.\d+)?\s*[a-z]+\s*)+)/i.exec(said) ??
    [];
  if (span === undefined) return undefined;
  let seconds = 0;
  for (const [, count, unit] of span.matchAll(/(\d+(?:\.\d+)?)\s*([smhd])/gi))
    seconds += Number(count) * (UNITS[unit?.toLowerCase() ?? ""] ?? 0);
  return seconds === 0 ? undefined : new Date(now + seconds * 1_000).toISOString();
}
