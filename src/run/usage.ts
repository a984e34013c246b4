/** Sums of what calls used. */
import type { Usage } from "./event.js";

export const addUsage = (a: Usage, b: Usage): Usage => ({
  input: a.input + b.input,
  cacheRead: a.cacheRead + b.cacheRead,
  cacheWrite: a.cacheWrite + b.cacheWrite,
  output: a.output + b.output,
});

export const tokensIn = ({ input, cacheRead, cacheWrite, output }: Usage): number =>
  input + cacheRead + cacheWrite + output;
