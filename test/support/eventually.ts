/** Waits for a condition, never for a time; a busy machine may take a minute for what takes a moment. */
import { setTimeout as sleep } from "node:timers/promises";

export async function eventually(what: string, holds: () => boolean | Promise<boolean>, seconds = 90): Promise<void> {
  for (const end = Date.now() + seconds * 1_000; Date.now() < end; await sleep(50)) if (await holds()) return;
  throw new Error(`it did not happen within ${seconds} s: ${what}`);
}
