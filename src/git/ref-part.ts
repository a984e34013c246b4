/** A name as a part of a ref's. */
export const refPart = (name: string): string => name.replaceAll(/[^\w.-]|\.\.|\.$/g, "_");
