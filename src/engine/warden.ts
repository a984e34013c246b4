/**
 * The warden: when Segno dies, whatever the way, its sessions' processes end within seconds by themselves. A shell
 * waits at a pipe whose other end only Segno holds; the pipe's end without a word means Segno is gone, and only then
 * does a Node process start that sweeps.
 */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

export interface Warden {
  /** An agent's process, the leader of its group: ended first, before anything is looked for. */
  watch(pid: number): void;
  unwatch(pid: number): void;
  /** Segno ended its sessions itself: nothing is left to do. */
  dismiss(): void;
}

const SWEEPER = fileURLToPath(new URL("./warden-sweep.js", import.meta.url));
const SCRIPT = `
trap '' HUP INT TERM
agents=
while read -r word pid; do
  case $word in
    watch) agents="$agents $pid" ;;
    unwatch) left=; for one in $agents; do [ "$one" = "$pid" ] || left="$left $one"; done; agents=$left ;;
    dismissed) exit 0 ;;
  esac
done
for one in $agents; do kill -9 -"$one"; done 2>/dev/null
exec "$0" "$1" "$2"`;

export function postWarden(run: string): Warden {
  const child = spawn("/bin/sh", ["-c", SCRIPT, process.execPath, SWEEPER, run], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
    cwd: "/",
  });
  child.on("error", () => {});
  child.stdin.on("error", () => {});
  child.unref();
  (child.stdin as unknown as { unref?: () => void }).unref?.();
  return {
    watch: (pid) => void child.stdin.write(`watch ${pid}\n`),
    unwatch: (pid) => void child.stdin.write(`unwatch ${pid}\n`),
    dismiss: () => void child.stdin.end("dismissed\n"),
  };
}
