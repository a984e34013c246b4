/**
 * A lease that is held: renewed twice a second, guarded by a process of its own, and over when it cannot be renewed.
 *
 * Invariants
 * 1. Agents of a phase have ended before anybody else can hold it (7 s after the last renewal that succeeded was sent; the
 *    lease itself lasts 10).
 * 2. Its holder gives it up a second earlier, and nothing brings it back: that agents were ended is never taken for something
 *    that happened to them.
 */
import { spawn } from "node:child_process";
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
  const { letGo, ...lease } = holdLease(queues, job, options);
  try {
    await use(lease);
  } finally {
    letGo();
  }
}

function holdLease(
  queues: Queues,
  job: Taken<RunJob>,
  { guards, longestMs }: LeaseOptions,
): HeldLease & { letGo: () => void } {
  const lost = new AbortController();
  const deadman = guards === undefined ? undefined : postDeadman(guards);
  const old = new AbortController();
  const growsOld = setTimeout(() => old.abort(), longestMs).unref();
  let renewed = Date.now();
  let renewing = false;
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
    // No more signs of life, and nobody is ended for it.
    letGo: () => {
      clearInterval(timer);
      clearTimeout(growsOld);
      deadman?.dismiss();
    },
  };
}

function postDeadman(prefix: string): { renewed(sent: number): void; dismiss(): void } {
  const child = spawn(process.execPath, [DEADMAN, prefix, String(PATIENCE_MS)], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
    cwd: "/",
    env: {},
  });
  child.on("error", () => {});
  child.stdin.on("error", () => {});
  child.unref();
  return {
    renewed: (sent) => void child.stdin.write(`${sent}\n`),
    dismiss: () => void child.stdin.end("dismissed\n"),
  };
}
