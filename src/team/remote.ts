/**
 * The git remote of a team: what a phase's holder has is sent there before the journal speaks of it, under names that hold
 * the lease's number, so that an old holder never writes over a new one's work.
 *
 *   refs/segno/<run>/phase/<phase>/e<epoch>            its newest commit
 *   refs/segno/<run>/train/<phase>/e<epoch>            what it would be on the branch
 *   refs/segno/<run>/wip/<phase>/e<epoch>-tree, -note  what is kept of its open work
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type CodeRemote, RemoteRefuses } from "../engine/code-remote.js";
import { workRef } from "../engine/safekeeping.js";
import { type Git, GitError } from "../git/git.js";
import { refPart } from "../git/ref-part.js";
import { phaseBranch, trainRef } from "../git/worktree.js";

const AGAIN_MS = [200, 1_000, 2_000, 5_000];
/** Twice as long with each try: what is slow is not away. */
const ANSWER_MS = 60_000;
const LONGEST_ANSWER_MS = 60 * 60_000;
const answerMs = (n: number): number => Math.min(LONGEST_ANSWER_MS, ANSWER_MS * 2 ** n);
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
  /** It cannot be reached, or refuses open work. */
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

  constructor(options: RemoteOptions) {
    this.#options = options;
  }

  async fetch(): Promise<void> {
    const { url, run, branch } = this.#options;
    const fetch = ["fetch", "--quiet", "--prune", "--no-tags", "--no-write-fetch-head", url];
    const refs = `+refs/segno/${run}/*:${seen(run)}/*`;
    const isGone = await this.#reached([...fetch, refs, `+refs/heads/${branch}:${seenBranch(run)}`], NO_BRANCH);
    // Somebody deleted the run's branch: what follows from that is said when something is to land on it.
    if (isGone === undefined) await this.#reached([...fetch, refs]);
  }

  sendCommits(phase: string): Promise<void> {
    const { run } = this.#options;
    return this.#send(phase, [
      [`refs/heads/${phaseBranch(run, phase)}`, "phase", ""],
      [trainRef(run, phase), "train", ""],
    ]);
  }

  async sendOpenWork(phase: string): Promise<void> {
    const { run, onTrouble } = this.#options;
    try {
      await this.#send(
        phase,
        WIP.map((what) => [workRef(run, phase, what), "wip", `-${what}`]),
      );
    } catch (error) {
      if (!(error instanceof RemoteRefuses)) throw error;
      onTrouble(error.message);
    }
  }

  async #send(phase: string, refs: readonly (readonly [from: string, room: string, end: string])[]): Promise<void> {
    const { git, url, run, epoch } = this.#options;
    const listed = await git.raw(["for-each-ref", "--format=%(refname)", ...refs.map(([from]) => from)]);
    const here = new Set(listed.split("\n"));
    const specs = refs.flatMap(([from, room, end]) =>
      here.has(from) ? [`+${from}:refs/segno/${run}/${room}/${refPart(phase)}/e${epoch}${end}`] : [],
    );
    if (specs.length > 0) await this.#reached(["push", "--quiet", "--no-verify", url, ...specs]);
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
    const { git, url, signal } = this.#options;
    const name = `refs/heads/${branch}`;
    const args = ["push", "--quiet", "--no-verify", `--force-with-lease=${name}:${base}`, url, `${to}:${name}`];
    for (let n = 0; ; n++) {
      const pushed = await git.attempt(args, { timeoutMs: answerMs(n), signal });
      if (pushed.ok) return true;
      const now = await this.branchTip(branch);
      if (now === to) return true;
      if (now !== base) return false;
      this.#expectNoRefusal(n, pushed.stderr);
      await this.#pause(n, new GitError(args, pushed.stderr));
    }
  }

  async branchTip(branch: string): Promise<string | undefined> {
    const listed = await this.#reached(["ls-remote", this.#options.url, `refs/heads/${branch}`]);
    return listed?.split("\t")[0] || undefined;
  }

  /** A remote that cannot be reached is waited for. `unless`: what is an answer, too. */
  async #reached(args: string[], unless?: RegExp): Promise<string | undefined> {
    for (let n = 0; ; n++) {
      const { git, signal } = this.#options;
      const { ok, stdout, stderr } = await git.attempt(args, { timeoutMs: answerMs(n), signal });
      if (ok) return stdout;
      if (unless?.test(stderr) === true) return undefined;
      this.#expectNoRefusal(n, stderr);
      await this.#pause(n, new GitError(args, stderr));
    }
  }

  /** A lock that somebody holds there for a moment looks the same at first. */
  #expectNoRefusal(n: number, stderr: string): void {
    if (n >= AGAIN_MS.length && REFUSED.test(stderr))
      throw new RemoteRefuses(`the git remote refuses it (${gitsWords(stderr)})`);
  }

  async #pause(n: number, error: GitError): Promise<void> {
    const { signal, onTrouble } = this.#options;
    if (signal.aborted) throw error;
    // What passes at once is no trouble: git sees a checkout that is just being made, somebody holds a lock there.
    if (n > 0) onTrouble(`cannot be reached: ${gitsWords(error.stderr)}`);
    // Woken up by the end of the lease, it says why it is over.
    await sleep(AGAIN_MS[Math.min(n, AGAIN_MS.length - 1)], undefined, { signal }).catch(() => {
      throw error;
    });
  }
}

/** A run that is over needs nothing of what was sent for it, but commits of phases that are on no branch. Tried once. */
export async function forgetRun(git: Git, url: string, run: string, kept: readonly string[] = []): Promise<void> {
  const listed = await git.attempt(["ls-remote", url, `refs/segno/${run}/*`], { timeoutMs: FORGETS_MS });
  const stay = kept.map((phase) => `refs/segno/${run}/phase/${refPart(phase)}/`);
  const gone = listed.stdout
    .split("\n")
    .flatMap((line) => line.split("\t")[1] ?? [])
    .filter((name) => !stay.some((place) => name.startsWith(place)))
    .map((name) => `:${name}`);
  if (gone.length > 0) await git.attempt(["push", "--quiet", "--no-verify", url, ...gone], { timeoutMs: FORGETS_MS });
}

const REFUSED = /^ ! \[(remote )?rejected\]/m;
const NO_BRANCH = /couldn't find remote ref/;

/** What git says first says what is wrong; what follows is advice. Of a refusal the end says why. */
export function gitsWords(stderr: string): string {
  const lines = stderr.trim().split("\n");
  const refused = lines.find((line) => /^ ?! \[/.test(line));
  if (refused !== undefined) {
    const said = lines
      .filter((line) => line.startsWith("remote: ") && line.length > 9)
      .map((line) => line.slice(8).trim());
    return [refused.trim().replace(/^! /, "").replace(/\s+/g, " "), ...said.slice(0, 3)].join("; ");
  }
  return (
    lines
      .find((line) => line.startsWith("fatal:"))
      ?.slice("fatal:".length)
      .trim() ??
    lines[0] ??
    ""
  );
}
