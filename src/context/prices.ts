/** What calls cost: in dollars where the price of their model is known, else in tokens of input. */
export interface CallUsage {
  input: number;
  cacheRead: number;
  cacheWrite: number;
  output: number;
}

/** Per million tokens: fresh input, output, input read from the cache and input written to it. */
export interface Price {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
}

/** What reading and writing the cache costs beside fresh input, as most lists have it. */
export const listPrice = (input: number, output: number): Price => ({
  input,
  output,
  cacheRead: input * 0.1,
  cacheWrite: input * 1.25,
});

/** For models whose price is not known: what each kind of token weighs beside one of fresh input. */
export const LIST_RATIOS: Price = listPrice(1e6, 5e6);

export const costOf = (price: Price, { input, cacheRead, cacheWrite, output }: CallUsage): number =>
  (input * price.input + cacheRead * price.cacheRead + cacheWrite * price.cacheWrite + output * price.output) / 1e6;

export const costAt = (price: Price | undefined, usage: CallUsage): number | undefined =>
  price === undefined ? undefined : costOf(price, usage);
