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

/** What a command must print; `noDecrease`: no less than it printed before the first phase. */
export type Prints = { atLeast: boolean; number: number } | { noDecrease: true; before: number | undefined };

/** The last number in an output: 87, 87.5 or 87.5%. */
export function numberIn(text: string): number | undefined {
  const found = [...text.matchAll(/-?\d+(?:\.\d+)?/g)].at(-1)?.[0];
  return found === undefined ? undefined : Number(found);
}

export function judgeCommand({ exit, timedOut, minutes, stdout }: Finished, prints: Prints | undefined): Judgement {
  if (timedOut) return { passed: false, why: `took longer than ${minutes} minutes` };
  if (exit === null) return { passed: false, why: "was ended by a signal" };
  if (prints === undefined) return { passed: exit === 0, why: `exit ${exit}` };
  if ("noDecrease" in prints) {
    const now = numberIn(stdout);
    if (exit !== 0) return { passed: false, why: `exit ${exit}` };
    if (now === undefined) return { passed: false, why: "printed no number that could be compared" };
    if (prints.before === undefined)
      return { passed: true, why: `printed ${now}; there is nothing to compare it with` };
    return { passed: now >= prints.before, why: `printed ${now}, before it was ${prints.before}` };
  }
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
