/** Exit codes, in one place. */
export const EXIT = { done: 0, failed: 1, usage: 2, stopped: 3, human: 4, tryAgain: 75, interrupted: 130 } as const;

/** How the process will end. */
export function end(code: number): void {
  process.exitCode = code;
}
