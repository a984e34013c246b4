/** Tells people what they would want to know while they are away. Whatever goes wrong here never touches the run. */
import { spawn } from "node:child_process";
import type { Notifier } from "../config/schema.js";
import type { RunEvent } from "../run/event.js";
import type { HeldRun } from "./held-run.js";

export interface Notice {
  event: "question" | "failed" | "finished" | "limit";
  run: string;
  plan: string;
  phase: string | undefined;
  title: string;
  message: string;
}

const TIMEOUT_MS = 20_000;
const MOST_MESSAGE = 1_000;

function noticeOf(
  event: RunEvent,
  { run, plan }: { run: string; plan: { file: string; title: string } },
  tail: string | undefined,
): Notice | undefined {
  const about = (kind: Notice["event"], title: string, message: string, phase?: string): Notice => ({
    event: kind,
    run,
    plan: plan.file,
    phase,
    title: `${plan.title}: ${title}`,
    message: message.slice(0, MOST_MESSAGE),
  });
  switch (event.type) {
    case "question-asked":
      return about("question", `phase ${event.phase} asks`, event.text, event.phase);
    case "phase-failed": {
      const said = tail === undefined ? "" : `\n${tail}`;
      return about("failed", `phase ${event.phase} failed`, `${event.category}: ${event.message}${said}`, event.phase);
    }
    case "limit-reached":
      return about("limit", "a usage limit holds the run", `until ${event.until}: ${event.message}`);
    case "run-completed":
      return about("finished", "finished", "All phases are done.");
    case "run-failed":
      return about("finished", "failed", `Not done: ${event.phases.join(", ")}. Go on with: segno resume ${run}`);
    case "run-stopped":
      return about("finished", "stopped", `${event.why}. Go on with: segno resume ${run}`);
    default:
      return undefined;
  }
}

/** `settle` waits a moment for what is still on its way. */
export function startNotifying(held: HeldRun): { settle(): Promise<void> } {
  const { run } = held;
  const pending = new Set<Promise<void>>();
  /** The last lines of each phase's newest gate that failed. */
  const tails = new Map<string, string>();
  run.onEvent((event) => {
    if (event.type === "gate-finished" && event.tail !== undefined) tails.set(event.phase, event.tail);
    const tail = "phase" in event && event.phase !== undefined ? tails.get(event.phase) : undefined;
    const notice = noticeOf(event, run.state, tail);
    if (notice === undefined) return;
    for (const notifier of run.state.config.notify) {
      if (!notifier.on.includes(notice.event)) continue;
      // What is told outside is kept here first.
      const sent = run
        .flush()
        .then(() => send(notifier, notice, held.gateEnv))
        .catch((error: unknown) => {
          const why = error instanceof Error ? error.message : String(error);
          const message = `A notification (${nameOf(notifier)}) failed: ${why}. The run goes on.`;
          try {
            run.warn(message);
          } catch {
            // The journal is broken: whoever conducts the run knows.
          }
        })
        .finally(() => pending.delete(sent));
      pending.add(sent);
    }
  });
  return { settle: () => Promise.allSettled(pending).then(() => {}) };
}

const nameOf = ({ command, webhook, ntfy }: Notifier): string =>
  command !== undefined ? "command" : webhook !== undefined ? "webhook" : ntfy !== undefined ? "ntfy" : "desktop";

async function send(notifier: Notifier, notice: Notice, env: Record<string, string>): Promise<void> {
  if (notifier.command !== undefined) return run("/bin/sh", ["-c", notifier.command], notice, env);
  if (notifier.webhook !== undefined)
    return post(notifier.webhook, JSON.stringify(notice), { "content-type": "application/json" });
  if (notifier.ntfy !== undefined) {
    const urgent = notice.event === "question" || notice.event === "failed";
    return post(notifier.ntfy, notice.message, {
      title: ascii(notice.title),
      priority: urgent ? "4" : "3",
      tags: notice.event,
    });
  }
  return process.platform === "darwin"
    ? // What is shown is given as arguments: no text becomes part of the script.
      run(
        "osascript",
        [
          "-e",
          "on run argv",
          "-e",
          "display notification (item 2 of argv) with title (item 1 of argv)",
          "-e",
          "end run",
          notice.title,
          notice.message,
        ],
        notice,
        env,
      )
    : run("notify-send", ["--app-name=Segno", "--", notice.title, notice.message], notice, env);
}

/** Headers hold no other characters. */
const ascii = (text: string): string => text.replaceAll(/[^\x20-\x7e]/g, "?");

async function post(url: string, body: string, headers: Record<string, string>): Promise<void> {
  const response = await fetch(url, {
    method: "POST",
    body,
    headers,
    signal: AbortSignal.timeout(TIMEOUT_MS),
    redirect: "error",
  });
  if (!response.ok) throw new Error(`the server answered ${response.status}`);
}

/** The notice is in its environment and, as JSON, on its standard input: never in the command itself. */
function run(program: string, args: string[], notice: Notice, env: Record<string, string>): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      stdio: ["pipe", "ignore", "ignore"],
      timeout: TIMEOUT_MS,
      killSignal: "SIGKILL",
      env: {
        ...env,
        SEGNO_EVENT: notice.event,
        SEGNO_RUN: notice.run,
        SEGNO_PHASE: notice.phase ?? "",
        SEGNO_TITLE: notice.title,
        SEGNO_MESSAGE: notice.message,
      },
    });
    child.on("error", reject);
    child.on("exit", (code, signal) =>
      code === 0
        ? resolve()
        : reject(new Error(signal === null ? `it ended with ${code}` : `it took longer than ${TIMEOUT_MS / 1_000} s`)),
    );
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify(notice));
  });
}
