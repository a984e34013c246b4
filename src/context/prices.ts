/** What calls cost, where the price of their model is known. */
import { CACHE_READ, CACHE_WRITE, type CallUsage } from "./economy.js";

/** In dollars per million tokens. */
export interface Price {
  input: number;
  output: number;
}

export function costAt(price: Price | undefined, usage: CallUsage): number | undefined {
  if (price === undefined) return undefined;
  const { input, cacheRead, cacheWrite, output } = usage;
  return ((input + cacheRead * CACHE_READ + cacheWrite * CACHE_WRITE) * price.input + output * price.output) / 1e6;
}
