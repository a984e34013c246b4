/** Rows in columns, as wide as their widest cell on a terminal. */
import { width as columns } from "./width.js";

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => columns(row[column] ?? ""))));
  return all
    .map((row) =>
      row
        .map((cell, column) => cell + " ".repeat((widths[column] ?? 0) - columns(cell)))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** Whether no line of it is wider. */
export const fits = (text: string, width: number): boolean => text.split("\n").every((line) => columns(line) <= width);
