/** Runs a command the user wrote as a gate. */
import { spawn } from "node:child_process";
import { MARKER, sweep } from "../agents/processes.js";
import { judgeCommand, type Prints } from "./judge.js";

export interface GateRequest {
  command: string;
  cwd: string;
  env: Record<string, string>;
  /** Marks its processes, so that none is left behind. */
  marker: string;
  timeoutMs: number;
  /** What it must print, where the plan says so. */
  prints?: Prints | undefined;
  /** Ends it at once; it is then no verdict. */
  signal?: AbortSignal | undefined;
}

export interface GateVerdict {
  /** It was ended before it could say anything. */
  calledOff?: boolean;
  passed: boolean;
  exit: number | null;
  ms: number;
  /** Why it counts as it does, in a few words. */
  why: string;
  output: string;
  /** What it printed to its standard output alone. */
  stdout: string;
}

const KEPT = 30_000;
/** How long to wait for the pipes of a gate whose processes have ended. */
const PIPES_MS = 2_000;

export async function runGate(request: GateRequest): Promise<GateVerdict> {
  const began = performance.now();
  const output = new BoundedOutput(KEPT);
  const stdout = new BoundedOutput(KEPT);
  const env = { ...request.env, [MARKER]: request.marker };
  const { exit, timedOut } = await new Promise<{ exit: number | null; timedOut: boolean }>((resolve) => {
    const child = spawn("/bin/sh", ["-c", request.command], {
      cwd: request.cwd,
      env,
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      void sweep((marker) => marker === request.marker);
    }, request.timeoutMs);
    const callOff = () => void sweep((marker) => marker === request.marker);
    if (request.signal?.aborted === true) callOff();
    else request.signal?.addEventListener("abort", callOff, { once: true });
    const over = (exit: number | null) => {
      clearTimeout(timer);
      request.signal?.removeEventListener("abort", callOff);
      resolve({ exit, timedOut });
    };
    child.stdout.on("data", (data: Buffer) => {
      output.add(data);
      stdout.add(data);
    });
    child.stderr.on("data", (data: Buffer) => output.add(data));
    child.on("error", (error) => {
      output.add(Buffer.from(error.message));
      over(null);
    });
    // A server it left in the background would hold the pipes open: end it, then read what is still in them.
    child.on("exit", async () => {
      await sweep((marker) => marker === request.marker);
      setTimeout(() => over(child.exitCode), PIPES_MS).unref();
    });
    child.on("close", (code) => over(code));
  });
  const ms = Math.round(performance.now() - began);
  const { passed, why } = judgeCommand(
    { exit, timedOut, minutes: request.timeoutMs / 60_000, stdout: stdout.text() },
    request.prints,
  );
  const calledOff = request.signal?.aborted === true && exit !== 0;
  return { calledOff, passed, exit, ms, why, output: output.text(), stdout: stdout.text() };
}

/** The first and the last part of an output of any length. */
class BoundedOutput {
  readonly #half: number;
  #head = "";
  #tail = "";
  #total = 0;

  constructor(limit: number) {
    this.#half = limit / 2;
  }

  add(data: Buffer): void {
    const text = data.toString("utf8");
    this.#total += text.length;
    const room = this.#half - this.#head.length;
    this.#head += text.slice(0, Math.max(0, room));
    this.#tail = (this.#tail + text.slice(Math.max(0, room))).slice(-this.#half);
  }

  text(): string {
    const left = this.#total - this.#head.length - this.#tail.length;
    return left > 0 ? `${this.#head}\n… ${left} characters left out …\n${this.#tail}` : this.#head + this.#tail;
  }
}
