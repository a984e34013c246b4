/**
 * A lock that survives nothing it should not: a file that names its holder by pid, process start time and boot id.
 * It is made whole beside its place and linked into it, so nobody ever reads half of one. A dead holder's lock is
 * taken over by the next number, which only one of many can create.
 */
import { execFileSync } from "node:child_process";
import { linkSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname, platform } from "node:os";
import { join } from "node:path";
import type { Holder, Lock } from "./store.js";

export type Locked = { ok: true; lock: Lock; tookOver: boolean } | { ok: false; holder: Holder };

export function takeLock(folder: string, name: string, run: string, now: Date): Locked {
  mkdirSync(folder, { recursive: true });
  const mine: Holder = { ...self(), host: hostname(), since: now.toISOString(), run };
  const draft = join(folder, `${name}.${process.pid}.${Math.random().toString(36).slice(2)}.draft`);
  writeFileSync(draft, JSON.stringify(mine), { mode: 0o600 });
  try {
    for (let tries = 0; tries < 100; tries++) {
      const newest = newestLock(folder, name);
      const holder = newest === undefined ? undefined : readHolder(join(folder, `${name}.${newest}`));
      if (holder !== undefined && isAlive(holder)) return { ok: false, holder };
      const number = (newest ?? 0) + 1;
      const path = join(folder, `${name}.${number}`);
      try {
        linkSync(draft, path);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "EEXIST") continue;
        throw error;
      }
      for (const other of numbersOf(folder, name))
        if (other < number) rmSync(join(folder, `${name}.${other}`), { force: true });
      return { ok: true, lock: { release: () => remove(path) }, tookOver: holder !== undefined };
    }
    throw new Error(`the lock ${name} in ${folder} cannot be taken: others take it again and again`);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Whatever became of its folder: what is not there is released. */
function remove(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOTDIR") throw error;
  }
}

/** Who holds it now, if anyone alive does. */
export function holderOf(folder: string, name: string): Holder | undefined {
  const newest = newestLock(folder, name);
  const holder = newest === undefined ? undefined : readHolder(join(folder, `${name}.${newest}`));
  return holder !== undefined && isAlive(holder) ? holder : undefined;
}

function numbersOf(folder: string, name: string): number[] {
  const prefix = `${name}.`;
  try {
    return readdirSync(folder)
      .filter((file) => file.startsWith(prefix) && /^\d+$/.test(file.slice(prefix.length)))
      .map((file) => Number(file.slice(prefix.length)));
  } catch {
    return [];
  }
}

const newestLock = (folder: string, name: string): number | undefined => {
  const numbers = numbersOf(folder, name);
  return numbers.length === 0 ? undefined : Math.max(...numbers);
};

function readHolder(path: string): Holder | undefined {
  try {
    const holder = JSON.parse(readFileSync(path, "utf8")) as Partial<Holder>;
    return typeof holder.pid === "number" && typeof holder.host === "string" ? (holder as Holder) : undefined;
  } catch {
    return undefined;
  }
}

function isAlive(holder: Holder): boolean {
  // Of another machine, or another container on the same files, nothing can be said from here.
  if (holder.host !== hostname()) return true;
  if (holder.boot !== bootId()) return false;
  return startTime(holder.pid) === holder.started;
}

const self = (): Pick<Holder, "pid" | "started" | "boot"> => ({
  pid: process.pid,
  started: startTime(process.pid) ?? "",
  boot: bootId(),
});

/** Undefined where no such process is running. */
function startTime(pid: number): string | undefined {
  try {
    if (platform() !== "linux")
      return (
        execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], {
          encoding: "utf8",
          env: { ...process.env, LC_ALL: "C", TZ: "UTC" },
        }).trim() || undefined
      );
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

let boot: string | undefined;
function bootId(): string {
  boot ??=
    platform() === "linux"
      ? readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()
      : execFileSync("sysctl", ["-n", "kern.bootsessionuuid"], { encoding: "utf8" }).trim();
  return boot;
}
