/** Runs git. Arguments are never joined to a shell string, and paths are never taken for patterns. */
import { execa } from "execa";

export class GitError extends Error {
  readonly args: readonly string[];
  readonly stderr: string;
  constructor(args: readonly string[], stderr: string) {
    super(`git ${args[0]} failed: ${stderr.trim() || "no message"}`);
    this.args = args;
    this.stderr = stderr;
  }
}

/** For where git's refusal is an answer; anything else is a bug. */
export function asGitError(error: unknown): GitError {
  if (error instanceof GitError) return error;
  throw error;
}

export interface GitOptions {
  /** A private index instead of the user's. */
  index?: string;
  input?: string;
  /** Where something of the user's may wait for them: a hook, a signature. */
  timeoutMs?: number;
}

export class Git {
  readonly top: string;
  constructor(top: string) {
    this.top = top;
  }

  /** Standard output, exactly; a failure throws. */
  async raw(args: readonly string[], options: GitOptions = {}): Promise<string> {
    const { ok, stdout, stderr } = await this.attempt(args, options);
    if (!ok) throw new GitError(args, stderr);
    return stdout;
  }

  /** Standard output without the newline at its end. */
  async line(args: readonly string[], options: GitOptions = {}): Promise<string> {
    return (await this.raw(args, options)).replace(/\n$/, "");
  }

  /** Where failing is an answer. */
  async attempt(
    args: readonly string[],
    options: GitOptions = {},
  ): Promise<{ ok: boolean; stdout: string; stderr: string }> {
    const result = await execa("git", args, {
      cwd: this.top,
      reject: false,
      stripFinalNewline: false,
      // A Ctrl-C at the terminal is for Segno, which ends the run cleanly; git finishes what it is doing.
      detached: true,
      ...(options.timeoutMs === undefined ? {} : { timeout: options.timeoutMs, forceKillAfterDelay: 5_000 }),
      maxBuffer: 512 * 1024 * 1024,
      ...(options.input === undefined ? { stdin: "ignore" } : { input: options.input }),
      env: {
        // Not for commits: the user's hooks would inherit it, and their own patterns would match nothing.
        ...(args[0] === "commit" ? {} : { GIT_LITERAL_PATHSPECS: "1" }),
        GIT_TERMINAL_PROMPT: "0",
        GIT_EDITOR: "true",
        // A key that wants a passphrase must fail, not wait for somebody.
        SSH_ASKPASS_REQUIRE: "never",
        GPG_TTY: "",
        GIT_OPTIONAL_LOCKS: "0",
        ...(options.index === undefined ? {} : { GIT_INDEX_FILE: options.index }),
      },
    });
    const late = result.timedOut
      ? `\nit took longer than ${(options.timeoutMs ?? 0) / 60_000} minutes and was ended`
      : "";
    return { ok: result.exitCode === 0, stdout: result.stdout, stderr: `${result.stderr}${late}` };
  }

  async nulSeparated(args: readonly string[], options: GitOptions = {}): Promise<string[]> {
    return (await this.raw(args, options)).split("\0").filter((path) => path !== "");
  }
}
