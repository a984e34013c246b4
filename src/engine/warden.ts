/**
 * The warden: when Segno dies, whatever the way, its sessions' processes end within seconds by themselves, and the run is
 * taken up again where that is wanted. A shell waits at a pipe whose other end only Segno holds (so nothing that ends
 * every `node` ends it, too); the pipe's end without a word means Segno is gone. Whether it may go on is decided by
 * whoever is started then, from the journal.
 */
import { spawn } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { markersOf } from "./marker.js";

export interface Warden {
  /** An agent's process, the leader of its group: ended first, before anything is looked for. */
  watch(pid: number): void;
  unwatch(pid: number): void;
  /** Segno ended its sessions itself: nothing is left to do. */
  dismiss(): void;
}

/** What takes the run up again: a script of ours and its arguments, and where. It gets the cause as a further argument. */
export interface Reviver {
  args: readonly string[];
  cwd: string;
}

const SWEEPER = fileURLToPath(new URL("./warden-sweep.js", import.meta.url));
const SCRIPT = `
trap '' HUP INT TERM
ooms() { while read -r key value; do [ "$key" = oom_kill ] && echo "$value"; done < /proc/vmstat; } 2>/dev/null
before=$(ooms)
agents=
while read -r word pid; do
  case $word in
    watch) agents="$agents $pid" ;;
    unwatch) left=; for one in $agents; do [ "$one" = "$pid" ] || left="$left $one"; done; agents=$left ;;
    dismissed) exit 0 ;;
  esac
done
for one in $agents; do kill -9 -"$one"; done 2>/dev/null
node=$0 sweeper=$1 markers=$2 log=$3 place=$4
shift 4
"$node" "$sweeper" "$markers"
[ $# -gt 0 ] || exit 0
[ "$before" = "$(ooms)" ] && cause=killed || cause=memory
cd "$place" || exit 0
exec "$node" "$@" "$cause" >>"$log" 2>&1 </dev/null`;

export const revivedLog = (run: string): string => join(tmpdir(), `segno-revived-${run}.log`);

export function postWarden(run: string, reviver: Reviver | undefined): Warden {
  const again = reviver === undefined ? ["/"] : [reviver.cwd, ...reviver.args];
  const child = spawn("/bin/sh", ["-c", SCRIPT, process.execPath, SWEEPER, markersOf(run), revivedLog(run), ...again], {
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
