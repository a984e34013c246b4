/** What models cost that Codex uses: list prices in dollars per million tokens; a cached token costs a tenth. */
import type { Price } from "../../context/prices.js";

/** Writing to the cache costs nothing extra there. */
const price = (input: number, output: number): Price => ({ input, output, cacheRead: input * 0.1, cacheWrite: input });

const PRICES: [RegExp, Price][] = [
  [/^gpt-5(\.\d+)?-(codex-)?mini/, price(0.25, 2)],
  [/^gpt-5(\.\d+)?-nano/, price(0.05, 0.4)],
  [/^gpt-5(\.\d+)?(-codex.*)?$/, price(1.25, 10)],
];

export const priceOf = (model: string): Price | undefined => PRICES.find(([form]) => form.test(model))?.[1];
