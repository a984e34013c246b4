/**
 * Gives the terminal back even if this process is killed: a small shell beside it holds the other end of a pipe, and puts
 * the terminal right when the pipe closes without a word.
 */
import { spawn, spawnSync } from "node:child_process";

/** Leaves the other screen, shows the cursor. */
export const LEAVE = "\u001b[?25h\u001b[?1049l";

const SCRIPT = `trap '' INT QUIT TERM HUP TTOU TTIN
read -r word
[ "$word" = left ] && exit 0
stty "$1" < /dev/tty
printf '${LEAVE.replaceAll("\u001b", "\\033")}' > /dev/tty`;

export interface Keeper {
  /** The terminal was given back here. */
  left(): void;
}

export function keepTerminal(): Keeper {
  const saved = spawnSync("stty", ["-g"], { stdio: ["inherit", "pipe", "ignore"], encoding: "utf8" });
  // Where there is no stty, or no terminal of our own, nothing can be kept.
  if (saved.status !== 0) return { left: () => {} };
  const child = spawn("/bin/sh", ["-c", SCRIPT, "segno", saved.stdout.trim()], {
    stdio: ["pipe", "ignore", "ignore"],
  });
  child.on("error", () => {});
  child.stdin.on("error", () => {});
  child.unref();
  return { left: () => void child.stdin.end("left\n") };
}
