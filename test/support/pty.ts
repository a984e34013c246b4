/** A command in a pseudo-terminal, and what a person would see there. */
import { execFileSync, spawn } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import headless from "@xterm/headless";
import { whenOver } from "./scratch.js";

export interface Pty {
  terminal: headless.Terminal;
  /** The screen as it is, without blanks at the ends of lines. */
  frame(): string[];
  /** Everything that was written, control characters and all. */
  raw(): string;
  /** Waits until the screen fits. */
  until(fits: (frame: string[]) => boolean, what: string): Promise<string[]>;
  type(keys: string): void;
  resize(columns: number, rows: number): void;
  ended: Promise<number | null>;
}

const quote = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

export interface PtyOptions {
  cwd: string;
  env: Record<string, string>;
  columns: number;
  rows: number;
}

export function inPty(command: readonly string[], { cwd, env, columns, rows }: PtyOptions): Pty {
  // The shell's own id is what signals are sent to: it becomes the command.
  const line = `stty cols ${columns} rows ${rows}; echo $$ >&3; exec ${command.map(quote).join(" ")}`;
  const child = spawn("script", ["-qefc", `exec 3>${quote(pidFile(cwd))}; ${line}`, "/dev/null"], {
    cwd,
    env: { TERM: "xterm-256color", ...env },
    stdio: ["pipe", "pipe", "inherit"],
  });
  whenOver(() => child.kill("SIGKILL"));
  const terminal = new headless.Terminal({ cols: columns, rows, allowProposedApi: true });
  let raw = "";
  child.stdout?.on("data", (data: Buffer) => {
    raw += data.toString();
    terminal.write(data);
  });
  const frame = (): string[] => {
    const { active } = terminal.buffer;
    return Array.from({ length: terminal.rows }, (_, row) =>
      (active.getLine(active.viewportY + row)?.translateToString(true) ?? "").trimEnd(),
    );
  };
  const ended = new Promise<number | null>((resolve) => child.on("close", (code) => resolve(code)));
  return {
    terminal,
    frame,
    raw: () => raw,
    until: async (fits, what) => {
      for (let tries = 0; tries < 900; tries++) {
        const now = frame();
        if (fits(now)) return now;
        await sleep(100);
      }
      throw new Error(`${what} did not appear:\n${frame().join("\n")}`);
    },
    type: (keys) => void child.stdin?.write(keys),
    resize: (cols, newRows) => {
      const pid = readFileSync(pidFile(cwd), "utf8").trim();
      const device = readlinkSync(`/proc/${pid}/fd/1`);
      execFileSync("stty", ["-F", device, "cols", String(cols), "rows", String(newRows)]);
      terminal.resize(cols, newRows);
    },
    ended,
  };
}

export const pidFile = (cwd: string): string => `${cwd}.pid`;
