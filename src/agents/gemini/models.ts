/** How much Google's models take: all of them so far. */
export const WINDOW = 1_048_576;
