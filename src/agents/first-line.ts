/** What a tool call is about: the first line of what it was given, short enough for a list. */
export function firstLine(value: unknown): string {
  const [line = ""] = String(value ?? "").split("\n");
  return line.length > 120 ? `${line.slice(0, 119)}…` : line;
}
