/** A run in a process of its own, which no terminal holds: `--detach`, and whenever the live screen watches it. */
import { spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { EXIT } from "./exit.js";

export const MAIN = fileURLToPath(new URL("./main.js", import.meta.url));

/** Set in the process that conducts: where to say which run it is. */
const IN_BACKGROUND = "SEGNO_IN_BACKGROUND";

export const isInBackground = (): boolean => process.env[IN_BACKGROUND] !== undefined && process.send !== undefined;

/** Said once the run has begun; from then on nobody waits for this process. */
export function sayRun(run: string): void {
  if (!isInBackground()) return;
  process.send?.({ run });
  process.disconnect?.();
}

export type Begun =
  | { ok: true; run: string; exited: Promise<number> /** Waits for it no longer. */; release(): void }
  | { ok: false; code: number };

/** Starts the same command again in the background; what it says before the run begins is said here. */
export async function startInBackground(args: readonly string[], env: Record<string, string>): Promise<Begun> {
  const folder = mkdtempSync(join(tmpdir(), "segno-start-"));
  const log = join(folder, "log");
  const out = openSync(log, "w");
  const child = spawn(process.execPath, [MAIN, ...args], {
    detached: true,
    stdio: ["ignore", out, out, "ipc"],
    env: { ...process.env, ...env, [IN_BACKGROUND]: "1" },
  });
  closeSync(out);
  const exited = new Promise<number>((resolve) => child.on("exit", (code) => resolve(code ?? EXIT.interrupted)));
  const run = await Promise.race([
    new Promise<string>((resolve) => child.on("message", (said) => resolve((said as { run: string }).run))),
    exited.then(() => undefined),
  ]);
  const text = readFileSync(log, "utf8");
  rmSync(folder, { recursive: true, force: true });
  if (run === undefined) {
    process.stderr.write(text);
    return { ok: false, code: await exited };
  }
  return { ok: true, run, exited, release: () => child.unref() };
}
