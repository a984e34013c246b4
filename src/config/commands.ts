/** Commands that a configuration wants to start as agents. */

/** What stands before the command where an agent is named in one word. */
const ACP = "acp:";

/** Every one that is named anywhere in these values, however it is written. */
export function commandsIn(value: unknown): string[] {
  if (typeof value === "string") return value.startsWith(ACP) ? [value.slice(ACP.length)] : [];
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.flatMap(commandsIn);
  return Object.entries(value).flatMap(([key, each]) =>
    key === "acp" && typeof each === "string" ? [each] : commandsIn(each),
  );
}

const KEYS = ["agent", "agents", "fallback"];

/** Those of the project's file that are not the user's own words, too. */
export function foreignCommands(
  user: Readonly<Record<string, unknown>>,
  project: Readonly<Record<string, unknown>>,
): string[] {
  const own = new Set(commandsIn(user));
  return [...new Set(KEYS.flatMap((key) => commandsIn(project[key])))].filter((command) => !own.has(command));
}
