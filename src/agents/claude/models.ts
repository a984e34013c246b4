/** What Claude's models cost: list prices in dollars per million tokens. */
import type { Price } from "../../context/prices.js";

const PRICES: [RegExp, Price][] = [
  [/opus-4-(1|20)|opus-4$|3-opus/, { input: 15, output: 75 }],
  [/opus/, { input: 5, output: 25 }],
  [/sonnet/, { input: 3, output: 15 }],
  [/haiku-4/, { input: 1, output: 5 }],
];

export const priceOf = (model: string): Price | undefined => PRICES.find(([form]) => form.test(model))?.[1];
