/**
 * A lease that is held: renewed twice a second, guarded by a process of its own, and over when it cannot be renewed.
 *
 * Invariants
 * 1. Agents of a phase have ended before anybody else can hold it (7 s after the last renewal that succeeded was sent; the
 *    lease itself lasts 10).
 * 2. Its holder gives it up a second earlier, and nothing brings it back: that agents were ended is never taken for something
 *    that happened to them.
 * 3. It counts from the first sign of life that was answered: what was fetched long ago may be somebody else's by now.
 */
import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Queues, RunJob, Taken } from "./queues.js";

const RENEWS_EVERY_MS = 500;
const PATIENCE_MS = 7_000;
const OWN_PATIENCE_MS = 6_000;
/** The queue ends a job after 24 hours, however many signs of life there are; until then what is being done can be ended. */
export const LONGEST_LEASE_MS = 20 * 60 * 60_000;
const DEADMAN = fileURLToPath(new URL("./deadman.js", import.meta.url));

export interface HeldLease {
  /** Aborted when it is lost: whatever is done from then on counts for nothing. */
  lost: AbortSignal;
  /** Whether it may still be believed in, at this very moment. */
  holds: () => boolean;
  /** Aborted when it was held for so long that it should change hands. */
  old: AbortSignal;
}

export interface LeaseOptions {
  /** How the markers of the processes begin that must end with it. */
  guards?: string;
  longestMs: number;
}

/** Holds it for as long as this takes, whatever becomes of that. */
export async function withLease(
  queues: Queues,
  job: Taken<RunJob>,
  options: LeaseOptions,
  use: (lease: HeldLease) => Promise<void>,
): Promise<void> {
  const since = await firstSign(queues, job);
  if (since === undefined) return;
  const { letGo, ...lease } = holdLease(queues, job, since, options);
  try {
    await use(lease);
  } finally {
    await letGo();
  }
}

/** When it was sent; undefined: it is somebody else's. */
async function firstSign(queues: Queues, job: Taken<RunJob>): Promise<number | undefined> {
  for (const until = Date.now() + OWN_PATIENCE_MS; ; await sleep(RENEWS_EVERY_MS)) {
    const sent = Date.now();
    try {
      return (await queues.touch(job)) ? sent : undefined;
    } catch (error) {
      if (Date.now() > until) throw error;
    }
  }
}

function holdLease(
  queues: Queues,
  job: Taken<RunJob>,
  since: number,
  { guards, longestMs }: LeaseOptions,
): HeldLease & { letGo: () => Promise<void> } {
  const lost = new AbortController();
  const deadman = guards === undefined ? undefined : postDeadman(guards);
  const old = new AbortController();
  const growsOld = setTimeout(() => old.abort(), longestMs).unref();
  let renewed = since;
  let renewing = false;
  deadman?.renewed(since);
  const end = (): void => {
    clearInterval(timer);
    lost.abort();
  };
  const holds = (): boolean => !lost.signal.aborted && Date.now() - renewed <= OWN_PATIENCE_MS;
  const timer = setInterval(() => {
    if (!holds()) return end();
    if (renewing) return;
    renewing = true;
    const sent = Date.now();
    queues
      .touch(job)
      .then((isOurs) => {
        // An answer that came too late for the deadman to hear of it is none.
        if (!isOurs || !holds()) return end();
        renewed = sent;
        deadman?.renewed(sent);
      })
      // The line is cut: it is tried again, as long as there is time.
      .catch(() => {})
      .finally(() => {
        renewing = false;
      });
  }, RENEWS_EVERY_MS);
  return {
    lost: lost.signal,
    holds,
    old: old.signal,
    // No more signs of life, and nobody is ended for it. Who holds it next begins when the deadman is gone.
    letGo: async () => {
      clearInterval(timer);
      clearTimeout(growsOld);
      await deadman?.dismiss();
    },
  };
}

const LEAVES_WITHIN_MS = 10_000;

function postDeadman(prefix: string): { renewed(sent: number): void; dismiss(): Promise<void> } {
  const child = spawn(process.execPath, [DEADMAN, prefix, String(PATIENCE_MS)], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
    cwd: "/",
    env: {},
  });
  const gone = new Promise<void>((resolve) => {
    child.on("error", () => resolve());
    child.on("exit", () => resolve());
  });
  child.stdin.on("error", () => {});
  child.unref();
  return {
    renewed: (sent) => void child.stdin.write(`${sent}\n`),
    dismiss: async () => {
      child.stdin.end("dismissed\n");
      await Promise.race([gone, sleep(LEAVES_WITHIN_MS, undefined, { ref: false })]);
    },
  };
}
