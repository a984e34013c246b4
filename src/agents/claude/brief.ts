/** What a tool call is about, in a few words for a person. */
const TELLING = [
  "file_path",
  "notebook_path",
  "command",
  "pattern",
  "path",
  "url",
  "description",
  "message",
  "task",
  "prompt",
];

export function briefOf(name: string, input: unknown): string {
  if (typeof input !== "object" || input === null) return "";
  const fields = input as Record<string, unknown>;
  if (name === "Skill") return clipped([fields.skill ?? fields.command, fields.args].filter(isText).join(" "));
  const telling = name === "Bash" ? ["command"] : TELLING;
  const value = telling
    .map((key) => fields[key])
    .find((candidate) => typeof candidate === "string" && candidate !== "");
  return clipped(String(value ?? ""));
}

const isText = (value: unknown): value is string => typeof value === "string" && value !== "";

function clipped(text: string): string {
  const line = text.split("\n")[0] ?? "";
  return line.length > 120 ? `${line.slice(0, 119)}…` : line;
}
