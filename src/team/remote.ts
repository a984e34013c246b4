/**
 * The git remote of a team: what a phase's holder has is sent there before the journal speaks of it, under names that hold
 * the lease's number, so that an old holder never writes over a new one's work.
 *
 *   refs/segno/<run>/phase/<phase>/e<epoch>            its newest commit
 *   refs/segno/<run>/train/<phase>/e<epoch>            what it would be on the branch
 *   refs/segno/<run>/wip/<phase>/e<epoch>-tree, -note  what is kept of its open work
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { CodeRemote } from "../engine/code-remote.js";
import { workRef } from "../engine/safekeeping.js";
import { type Git, GitError } from "../git/git.js";
import { refPart } from "../git/ref-part.js";
import { phaseBranch, trainRef } from "../git/worktree.js";

const AGAIN_MS = [200, 1_000, 2_000, 5_000];
const ANSWER_MS = 60_000;
/** Nothing waits for it, and nothing is lost without it. */
const FORGETS_MS = 10_000;
const WIP = ["tree", "note"] as const;

export interface RemoteOptions {
  git: Git;
  url: string;
  run: string;
  /** The run's branch. */
  branch: string;
  epoch: number;
  /** The lease is lost, or the worker ends: nothing more is tried. */
  signal: AbortSignal;
  /** It cannot be reached. */
  onTrouble: (why: string) => void;
}

const SEEN = "refs/segno-remote";
/** Where others' refs are seen here, and the run's branch. */
const seen = (run: string): string => `${SEEN}/${run}`;
const seenBranch = (run: string): string => `${seen(run)}-branch`;

/** What a clone keeps of a run, and which runs it knows. */
export const keptRefs = (run: string): string[] => [seen(run), seenBranch(run), `refs/segno/${run}`];
export async function runsSeen(git: Git): Promise<string[]> {
  const listed = await git.raw(["for-each-ref", "--format=%(refname)", SEEN]);
  return listed.split("\n").flatMap((name) => (name === "" ? [] : (name.split("/")[2] ?? "").replace(/-branch$/, "")));
}

export class TeamRemote implements CodeRemote {
  readonly #options: RemoteOptions;
  readonly #sent = new Set<string>();

  constructor(options: RemoteOptions) {
    this.#options = options;
  }

  async fetch(): Promise<void> {
    const { url, run, branch } = this.#options;
    const specs = [`+refs/segno/${run}/*:${seen(run)}/*`, `+refs/heads/${branch}:${seenBranch(run)}`];
    await this.#reached(["fetch", "--quiet", "--prune", "--no-tags", "--no-write-fetch-head", url, ...specs]);
  }

  async send(phase: string): Promise<void> {
    const { git, url, run, epoch } = this.#options;
    const part = refPart(phase);
    const names = [
      [`refs/heads/${phaseBranch(run, phase)}`, `refs/segno/${run}/phase/${part}/e${epoch}`],
      [trainRef(run, phase), `refs/segno/${run}/train/${part}/e${epoch}`],
      ...WIP.map((what) => [workRef(run, phase, what), `refs/segno/${run}/wip/${part}/e${epoch}-${what}`]),
    ] as [string, string][];
    const listed = await git.raw(["for-each-ref", "--format=%(refname)", ...names.map(([from]) => from)]);
    const here = new Set(listed.split("\n"));
    // What is committed is no open work any more.
    const specs = names.flatMap(([from, to]) =>
      here.has(from) ? [`+${from}:${to}`] : this.#sent.delete(to) ? [`:${to}`] : [],
    );
    if (specs.length === 0) return;
    await this.#reached(["push", "--quiet", "--no-verify", url, ...specs]);
    for (const [from, to] of names) if (here.has(from)) this.#sent.add(to);
  }

  /** What the last holder kept of its open work is where this one looks for it. */
  async recover(phase: string): Promise<void> {
    const { git, run } = this.#options;
    await this.fetch();
    const folder = `${seen(run)}/wip/${refPart(phase)}/`;
    const listed = await git.raw(["for-each-ref", "--format=%(refname)", folder]);
    const newest = listed
      .split("\n")
      .map((name) => Number(/\/e(\d+)-note$/.exec(name)?.[1] ?? -1))
      .reduce((a, b) => Math.max(a, b), -1);
    for (const what of WIP) {
      const own = workRef(run, phase, what);
      if (newest < 0) await git.attempt(["update-ref", "-d", own]);
      else await git.raw(["update-ref", own, await git.line(["rev-parse", `${folder}e${newest}-${what}`])]);
    }
  }

  /** Moves a branch there, if it stands where it should; whether it did. Only forwards. */
  async moveBranch(branch: string, base: string, to: string): Promise<boolean> {
    const { git, url } = this.#options;
    const name = `refs/heads/${branch}`;
    const args = ["push", "--quiet", "--no-verify", `--force-with-lease=${name}:${base}`, url, `${to}:${name}`];
    for (let n = 0; ; n++) {
      const pushed = await git.attempt(args, { timeoutMs: ANSWER_MS });
      if (pushed.ok) return true;
      const now = await this.branchTip(branch);
      if (now === to) return true;
      if (now !== base) return false;
      await this.#pause(n, new GitError(args, pushed.stderr));
    }
  }

  async branchTip(branch: string): Promise<string | undefined> {
    const listed = await this.#reached(["ls-remote", this.#options.url, `refs/heads/${branch}`]);
    return listed.split("\t")[0] || undefined;
  }

  /** A remote that cannot be reached is waited for. */
  async #reached(args: string[]): Promise<string> {
    for (let n = 0; ; n++) {
      const { ok, stdout, stderr } = await this.#options.git.attempt(args, { timeoutMs: ANSWER_MS });
      if (ok) return stdout;
      await this.#pause(n, new GitError(args, stderr));
    }
  }

  async #pause(n: number, error: GitError): Promise<void> {
    const { signal, onTrouble } = this.#options;
    if (signal.aborted) throw error;
    onTrouble(gitsWords(error.stderr));
    // Woken up by the end of the lease, it says why it is over.
    await sleep(AGAIN_MS[Math.min(n, AGAIN_MS.length - 1)], undefined, { signal }).catch(() => {
      throw error;
    });
  }
}

/** A run that is over needs nothing of what was sent for it. Tried once; whether nothing is left. */
export async function forgetRun(git: Git, url: string, run: string): Promise<boolean> {
  const listed = await git.attempt(["ls-remote", url, `refs/segno/${run}/*`], { timeoutMs: FORGETS_MS });
  const names = listed.stdout.split("\n").flatMap((line) => line.split("\t")[1] ?? []);
  if (names.length === 0) return listed.ok;
  const gone = names.map((name) => `:${name}`);
  return (await git.attempt(["push", "--quiet", "--no-verify", url, ...gone], { timeoutMs: FORGETS_MS })).ok;
}

/** What git says first says what is wrong; what follows is advice. */
export function gitsWords(stderr: string): string {
  const lines = stderr.trim().split("\n");
  return (
    lines
      .find((line) => line.startsWith("fatal:"))
      ?.slice("fatal:".length)
      .trim() ??
    lines[0] ??
    ""
  );
}
