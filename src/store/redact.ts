/** Secrets are taken out before anything is written: known token forms, and the values of secret-looking variables. */
const FORMS = [
  /\bsk-ant-[A-Za-z0-9_-]{10,}/g,
  /\bsk-[A-Za-z0-9]{20,}/g,
  /\bgh[pousr]_[A-Za-z0-9]{30,}/g,
  /\bgithub_pat_[A-Za-z0-9_]{40,}/g,
  /\bAKIA[0-9A-Z]{16}\b/g,
  /\bxox[abprs]-[A-Za-z0-9-]{10,}/g,
  /\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----/g,
];
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
