/**
 * The processes of a session: all that carry its marker in their environment, and all their descendants. A shell
 * command of an agent has a process group of its own, so a group is not enough.
 */
import { execFile, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { platform } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

export const MARKER = "SEGNO_SESSION";

interface Process {
  pid: number;
  parent: number;
  /** Start time: a pid alone may have been given to someone else in the meantime. */
  started: string;
  marked: boolean;
}

const POLITE_MS = 100;
const LIMIT_MS = 20_000;
/** So often nothing must be seen before it is believed. */
const LOOKS = 2;
const AGAIN_MS = 5;

/**
 * Ends every process whose marker is accepted, and its descendants; resolves to how many there were. It stays until
 * they are gone: a large process on a busy machine takes a while to die.
 */
export async function sweep(accepts: (marker: string) => boolean): Promise<number> {
  const ended = new Set<string>();
  const began = performance.now();
  let rounds = 0;
  let unseen = 0;
  for (let spent = 0; spent < LIMIT_MS; spent = performance.now() - began) {
    const left = await findProcesses(accepts);
    if (left.length === 0) {
      // One that is just becoming another program has no environment for a moment.
      if (++unseen === LOOKS) break;
      await sleep(AGAIN_MS);
      continue;
    }
    unseen = 0;
    for (const { pid, started } of left) {
      ended.add(`${pid}@${started}`);
      kill(pid, spent < POLITE_MS ? "SIGTERM" : "SIGKILL");
    }
    await sleep(Math.min(200, 20 * ++rounds));
  }
  return ended.size;
}

/**
 * A command line whose process the kernel ends in the moment Segno ends, where Linux has `setpriv`. An agent that goes
 * on for only some milliseconds can make one more model call; the warden follows for everything else.
 */
export function diesWithParent(command: string): [string, string[]] {
  setpriv ??= platform() === "linux" ? (["/usr/bin/setpriv", "/bin/setpriv"].find(knowsDeathSignal) ?? "") : "";
  return setpriv === "" ? [command, []] : [setpriv, ["--pdeathsig", "KILL", "--", command]];
}
let setpriv: string | undefined;

/** BusyBox and old systems have a `setpriv` without it. */
const knowsDeathSignal = (path: string): boolean =>
  existsSync(path) && spawnSync(path, ["--pdeathsig", "KILL", "--", "true"], { stdio: "ignore" }).status === 0;

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It ended by itself in between.
  }
}

export async function findProcesses(accepts: (marker: string) => boolean): Promise<{ pid: number; started: string }[]> {
  const all = platform() === "linux" ? await linuxProcesses(accepts) : await otherProcesses(accepts);
  const doomed = new Set(all.filter((candidate) => candidate.marked).map((candidate) => candidate.pid));
  for (let grown = true; grown; ) {
    grown = false;
    for (const { pid, parent } of all) {
      if (!doomed.has(pid) && doomed.has(parent)) {
        doomed.add(pid);
        grown = true;
      }
    }
  }
  doomed.delete(process.pid);
  return all.filter((candidate) => doomed.has(candidate.pid));
}

const AT_ONCE = 200;
const MOST_LISTINGS = 20;
/** The parent of all threads of the kernel. */
const KERNEL = 2;

/** Read directly: through the thread pool each of these small files costs five times as much. */
async function linuxProcesses(accepts: (marker: string) => boolean): Promise<Process[]> {
  const found: Process[] = [];
  const looked = new Set<string>();
  for (let listing = 0; listing < MOST_LISTINGS; listing++) {
    // Whoever was born while the others were looked at may be the child of one that is gone by now.
    const born = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && !looked.has(name));
    if (born.length === 0) break;
    for (const [index, name] of born.entries()) {
      looked.add(name);
      const candidate = linuxProcess(Number(name), accepts);
      if (candidate !== undefined) found.push(candidate);
      // A machine with thousands of them must not keep everyone else waiting.
      if (index % AT_ONCE === AT_ONCE - 1) await new Promise((resolve) => setImmediate(resolve));
    }
  }
  return found;
}

function linuxProcess(pid: number, accepts: (marker: string) => boolean): Process | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name in parentheses may itself hold spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const parent = Number(fields[1]);
    // Threads of the kernel have no environment, and no children of ours.
    if (fields[0] === "Z" || parent === KERNEL || pid === KERNEL) return undefined;
    return {
      pid,
      parent,
      started: fields[19] ?? "",
      marked: isMarked(environOf(pid), accepts),
    };
  } catch {
    return undefined;
  }
}

/** Empty for those of other users. */
function environOf(pid: number): string[] {
  try {
    const environ = readFileSync(`/proc/${pid}/environ`, "latin1");
    return environ.includes(`${MARKER}=`) ? environ.split("\0") : [];
  } catch {
    return [];
  }
}

/** macOS: `ps -E` shows the environment of the user's own processes. */
async function otherProcesses(accepts: (marker: string) => boolean): Promise<Process[]> {
  const { stdout } = await promisify(execFile)("ps", ["-Eww", "-axo", "pid=,ppid=,lstart=,command="], {
    maxBuffer: 64 * 1024 * 1024,
    // The start time is compared and parsed: it must not depend on the user's language or time zone.
    env: { ...process.env, LC_ALL: "C", TZ: "UTC" },
  });
  return stdout.split("\n").flatMap((line) => {
    const match = /^\s*(\d+)\s+(\d+)\s+(\w+\s+\w+\s+\d+\s+[\d:]+\s+\d+)\s+(.*)$/.exec(line);
    if (match === null) return [];
    const [, pid, parent, started, rest] = match as unknown as [string, string, string, string, string];
    return [{ pid: Number(pid), parent: Number(parent), started, marked: isMarked(rest.split(" "), accepts) }];
  });
}

function isMarked(variables: string[], accepts: (marker: string) => boolean): boolean {
  const variable = variables.find((candidate) => candidate.startsWith(`${MARKER}=`));
  return variable !== undefined && accepts(variable.slice(MARKER.length + 1));
}
