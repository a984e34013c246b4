/** How a finished command counts as a gate. */
export interface Finished {
  exit: number | null;
  timedOut: boolean;
  minutes: number;
  stdout: string;
}

export interface Judgement {
  passed: boolean;
  /** Why, in a few words. */
  why: string;
}

export function judgeCommand(
  { exit, timedOut, minutes, stdout }: Finished,
  prints: { atLeast: boolean; number: number } | undefined,
): Judgement {
  if (timedOut) return { passed: false, why: `took longer than ${minutes} minutes` };
  if (exit === null) return { passed: false, why: "was ended by a signal" };
  if (prints === undefined) return { passed: exit === 0, why: `exit ${exit}` };
  // `grep -c` ends with 1 when it counts 0: the number decides. 2 and above is a command that did not work.
  if (exit >= 2) return { passed: false, why: `exit ${exit}` };
  const wanted = prints.atLeast ? `at least ${prints.number}` : String(prints.number);
  const last = stdout.trim().split("\n").at(-1)?.trim() ?? "";
  const number = /^-?\d+$/.test(last) ? Number(last) : undefined;
  if (number === undefined)
    return { passed: false, why: `printed ${last === "" ? "nothing" : "no number"} where ${wanted} was expected` };
  const passed = prints.atLeast ? number >= prints.number : number === prints.number;
  return { passed, why: `printed ${number}${passed ? "" : ` where ${wanted} was expected`}` };
}
