/**
 * What a project's file says beside the user's own. Anyone may have committed it, so it may narrow what the user's file
 * permits, and never widen it: less may be done, spent and seen, not more. Every other key is the project's to choose.
 */
type Values = Readonly<Record<string, unknown>>;

/** From what permits least to what permits most. */
const LEVELS = ["listed", "dontAsk", "auto", "edits", "acceptEdits", "all", "bypassPermissions"];
const LIMITS = ["max_cost_usd", "max_tokens", "max_hours"];
const FORBIDDING = ["denied_tools", "env_deny"];

/** The project's values as far as they count, and the keys in which they did not. */
export function narrowed(user: Values, project: Values): { values: Values; refused: string[] } {
  const values: Record<string, unknown> = { ...project };
  const refused: string[] = [];
  const keep = (key: string): void => {
    values[key] = user[key];
    refused.push(key);
  };
  const both = (key: string): boolean => user[key] !== undefined && project[key] !== undefined;
  if (
    both("permission_mode") &&
    LEVELS.indexOf(String(project.permission_mode)) > LEVELS.indexOf(String(user.permission_mode))
  )
    keep("permission_mode");
  for (const key of LIMITS) if (both(key) && Number(project[key]) > Number(user[key])) keep(key);
  for (const key of FORBIDDING)
    if (both(key)) values[key] = [...new Set([...listOf(user[key]), ...listOf(project[key])])];
  if (both("allowed_tools")) {
    const allowed = listOf(user.allowed_tools);
    const asked = listOf(project.allowed_tools);
    values.allowed_tools = asked.filter((tool) => allowed.includes(tool));
    if (asked.some((tool) => !allowed.includes(tool))) refused.push("allowed_tools");
  }
  // Whose logins are used is the user's word alone.
  if (project.accounts !== undefined) keep("accounts");
  if (user.sandbox === true && project.sandbox === false) keep("sandbox");
  return { values, refused };
}

/** The one of the two that permits less. */
export const narrowerLevel = <T extends string>(a: T, b: T): T => (LEVELS.indexOf(a) <= LEVELS.indexOf(b) ? a : b);

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
