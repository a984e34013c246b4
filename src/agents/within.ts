import type { ChildProcess } from "node:child_process";

/** A promise that is not waited for longer than this. */
export function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("it does not answer")), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Waits for it, and goes on without it when the time is up. */
export async function settled(ms: number, promise: Promise<unknown> | undefined): Promise<void> {
  await within(ms, Promise.resolve(promise)).catch(() => {});
}

/** Waits for its end, if it runs at all. */
export async function exited(ms: number, child: ChildProcess | undefined): Promise<void> {
  if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  await settled(ms, new Promise((resolve) => child.once("exit", resolve)));
}
