/** Runs git. Arguments are never joined to a shell string, and paths are never taken for patterns. */
import { spawn } from "node:child_process";

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
  /** What it was for is over. */
  signal?: AbortSignal;
}

interface Ended {
  ok: boolean;
  stdout: Buffer;
  stderr: string;
}

const KILL_AFTER_MS = 5_000;

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
    const { ok, stdout, stderr } = await this.#ended(args, options);
    return { ok, stdout: stdout.toString("utf8"), stderr };
  }

  async nulSeparated(args: readonly string[], options: GitOptions = {}): Promise<string[]> {
    return (await this.raw(args, options)).split("\0").filter((path) => path !== "");
  }

  /** Contents of objects, named as git names them (`HEAD:file`); undefined where there is none. One process for all. */
  async contents(names: readonly string[]): Promise<(string | undefined)[]> {
    if (names.length === 0) return [];
    // A name with a line break cannot be told from two.
    if (names.some((name) => name.includes("\n"))) {
      const shown = names.map((name) => this.attempt(["cat-file", "blob", name]));
      return (await Promise.all(shown)).map(({ ok, stdout }) => (ok ? stdout : undefined));
    }
    const { stdout } = await this.#ended(["cat-file", "--batch"], { input: `${names.join("\n")}\n` });
    let at = 0;
    return names.map(() => {
      const end = stdout.indexOf(10, at);
      const [, type, size] = stdout.toString("utf8", at, end < 0 ? at : end).split(" ");
      at = end + 1;
      if (end < 0 || size === undefined || !/^\d+$/.test(size)) return undefined;
      const content = stdout.toString("utf8", at, at + Number(size));
      at += Number(size) + 1;
      return type === "blob" ? content : undefined;
    });
  }

  #ended(args: readonly string[], { index, input, timeoutMs, signal }: GitOptions): Promise<Ended> {
    return new Promise((resolve) => {
      const child = spawn("git", args, {
        cwd: this.top,
        stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
        // A Ctrl-C at the terminal is for Segno, which ends the run cleanly; git finishes what it is doing.
        detached: true,
        env: {
          ...process.env,
          // Not for commits: the user's hooks would inherit it, and their own patterns would match nothing.
          ...(args[0] === "commit" ? {} : { GIT_LITERAL_PATHSPECS: "1" }),
          // Some of what git says is an answer; hooks of a commit speak the user's language.
          ...(args[0] === "commit" ? {} : { LANGUAGE: "en" }),
          GIT_TERMINAL_PROMPT: "0",
          GIT_EDITOR: "true",
          // A key that wants a passphrase must fail, not wait for somebody.
          SSH_ASKPASS_REQUIRE: "never",
          GPG_TTY: "",
          GIT_OPTIONAL_LOCKS: "0",
          ...(index === undefined ? {} : { GIT_INDEX_FILE: index }),
        },
      });
      const out: Buffer[] = [];
      const errors: Buffer[] = [];
      let late = "";
      const timers: NodeJS.Timeout[] = [];
      const end = (ok: boolean, said = ""): void => {
        for (const timer of timers) clearTimeout(timer);
        signal?.removeEventListener("abort", callOff);
        resolve({ ok, stdout: Buffer.concat(out), stderr: `${Buffer.concat(errors)}${said}${late}` });
      };
      child.stdout?.on("data", (data: Buffer) => out.push(data));
      child.stderr?.on("data", (data: Buffer) => errors.push(data));
      child.once("error", (error) => end(false, error.message));
      child.once("close", (code) => end(code === 0));
      const stop = (why: string): void => {
        late = `\n${why}`;
        // What it started may hold its output open for ever.
        child.once("exit", () => [child.stdout, child.stderr].forEach((stream) => void stream?.destroy()));
        child.kill("SIGTERM");
        timers.push(setTimeout(() => child.kill("SIGKILL"), KILL_AFTER_MS));
      };
      const tooLong = (): void => stop(`it took longer than ${(timeoutMs ?? 0) / 60_000} minutes and was ended`);
      if (timeoutMs !== undefined) timers.push(setTimeout(tooLong, timeoutMs));
      const callOff = (): void => stop("it was called off");
      if (signal?.aborted === true) callOff();
      else signal?.addEventListener("abort", callOff, { once: true });
      // A git that ends before it has read everything says why by its exit code.
      child.stdin?.on("error", () => {});
      child.stdin?.end(input);
    });
  }
}
