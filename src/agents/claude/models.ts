/** What Claude's models cost: list prices in dollars per million tokens. */
import { listPrice, type Price } from "../../context/prices.js";

const PRICES: [RegExp, Price][] = [
  [/opus-4-(1|20)|opus-4$|3-opus/, listPrice(15, 75)],
  [/opus/, listPrice(5, 25)],
  [/sonnet/, listPrice(3, 15)],
  [/haiku-4/, listPrice(1, 5)],
];

export const priceOf = (model: string): Price | undefined => PRICES.find(([form]) => form.test(model))?.[1];
