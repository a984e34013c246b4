/** Why a run cannot start or go on: values, turned into words and an exit code in one place (`cli/words.ts`). */
import type { RepositoryProblem } from "../git/start.js";
import type { Diagnostic } from "../plan/model.js";

export interface ConfigProblem {
  file: string;
  line: number;
  column: number;
  message: string;
  fix: string;
}

export type Failure =
  | { type: "usage"; what: string; fix: string }
  | { type: "plan"; diagnostics: Diagnostic[] }
  | { type: "plan-outside"; file: string; top: string }
  /** None or several where one is meant; `folder`: as it was given, or undefined where nothing was. */
  | { type: "which-plan"; folder: string | undefined; candidates: string[] }
  | { type: "config"; problems: ConfigProblem[] }
  | { type: "repository"; problem: RepositoryProblem; detail: string }
  | { type: "dirty"; files: string[] }
  | { type: "held"; what: "run" | "checkout"; pid: number; host: string; since: string; run: string }
  | { type: "other-branch"; expected: string; actual: string }
  | { type: "branch"; branch: string; why: string }
  | { type: "old-run"; run: string; plan: string; hours: number; window: number }
  | { type: "nothing-to-resume"; run: string | undefined; why: string }
  | { type: "no-permission-mode" }
  | { type: "no-agent"; agent: string; help: string; detail: string }
  | { type: "no-login"; agent: string; help: string }
  | { type: "unknown-agent"; agent: string; known: readonly string[] }
  | { type: "no-run"; run: string | undefined }
  | { type: "journal"; file: string; line: number; why: string; readable: number }
  | { type: "disk-full"; run: string }
  /** It may be back in a moment; `where` holds nothing secret. */
  | { type: "database-away"; where: string; why: string }
  | { type: "file-system"; code: string; path: string | undefined; run: string | undefined }
  | { type: "windows" };

export type Result<T> = { ok: true; value: T } | { ok: false; failure: Failure };

export const good = <T>(value: T): Result<T> => ({ ok: true, value });
export const bad = (failure: Failure): { ok: false; failure: Failure } => ({ ok: false, failure });
