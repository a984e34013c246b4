import { CACHE_READ, CACHE_WRITE, type CallUsage } from "./economy.js";

/** List prices in dollars per million tokens; undefined for models not listed. */
interface Price {
  input: number;
  output: number;
}

const PRICES: [RegExp, Price][] = [
  [/opus-4-(1|20)|opus-4$|3-opus/, { input: 15, output: 75 }],
  [/opus/, { input: 5, output: 25 }],
  [/sonnet/, { input: 3, output: 15 }],
  [/haiku-4/, { input: 1, output: 5 }],
];

export function costOf(model: string, usage: CallUsage): number | undefined {
  const price = PRICES.find(([form]) => form.test(model))?.[1];
  if (price === undefined) return undefined;
  const { input, cacheRead, cacheWrite, output } = usage;
  return ((input + cacheRead * CACHE_READ + cacheWrite * CACHE_WRITE) * price.input + output * price.output) / 1e6;
}
