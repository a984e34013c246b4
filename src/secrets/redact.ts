/** Secrets are taken out before anything is written: known token forms, and the values of secret-looking variables. */
import { SECRET_FORMS, TOKEN_OF_A_LOGIN } from "./forms.js";

const FORMS = [TOKEN_OF_A_LOGIN, ...SECRET_FORMS.map(({ sure, wide }) => wide ?? sure)].map(
  (form) => new RegExp(form.source, form.flags.includes("i") ? "gi" : "g"),
);
/** Shorter values are words as often as secrets: taking "postgres" out of every text would help nobody. */
const SHORTEST_SECRET = 16;
const SECRET_NAME = /(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL)S?$/i;
const GONE = "[redacted]";

export type Redact = (text: string) => string;

export function redactor(env: Readonly<Record<string, string | undefined>>): Redact {
  const values = Object.entries(env)
    .flatMap(([name, value]) =>
      SECRET_NAME.test(name) && value !== undefined && value.length >= SHORTEST_SECRET ? [value] : [],
    )
    .sort((a, b) => b.length - a.length);
  return (text) => {
    let clean = text;
    for (const value of values) clean = clean.replaceAll(value, GONE);
    for (const form of FORMS) clean = clean.replace(form, GONE);
    return clean;
  };
}

/** A copy of a value with every string in it redacted; the same object where nothing was found. */
export function redactDeep<T>(value: T, redact: Redact): T {
  const text = JSON.stringify(value);
  if (text === undefined || redact(text) === text) return value;
  return walk(value, redact) as T;
}

function walk(value: unknown, redact: Redact): unknown {
  if (typeof value === "string") return redact(value);
  if (Array.isArray(value)) return value.map((item) => walk(item, redact));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, walk(item, redact)]));
}
