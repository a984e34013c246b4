/** Secrets are taken out before anything is written: known token forms, and the values of secret-looking variables. */
import { SECRET_FORMS, type SecretForm, TOKEN_OF_A_LOGIN } from "./forms.js";

type Form = Omit<SecretForm, "what">;

const FORMS = [{ sure: TOKEN_OF_A_LOGIN, needs: "eyJ" }, ...SECRET_FORMS].map(
  ({ sure, wide = sure, needs = "" }: Form) => ({
    form: new RegExp(wide.source, wide.flags.includes("i") ? "gi" : "g"),
    needs,
  }),
);
/** Shorter values are words as often as secrets: taking "postgres" out of every text would help nobody. */
const SHORTEST_SECRET = 16;
const SECRET_NAME = /(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL)S?$/i;
const GONE = "[redacted]";

export type Redact = (text: string) => string;

/** `also`: what is known to be secret, however short; of less than six characters nothing would be left of any text. */
export function redactor(env: Readonly<Record<string, string | undefined>>, also: readonly string[] = []): Redact {
  const values = Object.entries(env)
    .flatMap(([name, value]) =>
      SECRET_NAME.test(name) && value !== undefined && value.length >= SHORTEST_SECRET ? [value] : [],
    )
    .concat(also.filter((value) => value.length >= 6))
    .sort((a, b) => b.length - a.length);
  return (text) => {
    let clean = text;
    for (const value of values) clean = clean.replaceAll(value, GONE);
    for (const { form, needs } of FORMS) if (clean.includes(needs)) clean = clean.replace(form, GONE);
    return clean;
  };
}

/**
 * A copy of a value with every string in it redacted; the same object where nothing was found. With its JSON: where that
 * escapes nothing, all strings stand in it as they are, and one look is enough.
 */
export function redactDeep<T extends object>(value: T, redact: Redact): { clean: T; json: string } {
  const json = JSON.stringify(value);
  if (!json.includes("\\") && redact(json) === json) return { clean: value, json };
  const clean = walk(value, redact) as T;
  const cleanJson = JSON.stringify(clean);
  return cleanJson === json ? { clean: value, json } : { clean, json: cleanJson };
}

function walk(value: unknown, redact: Redact): unknown {
  if (typeof value === "string") return redact(value);
  if (Array.isArray(value)) return value.map((item) => walk(item, redact));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, walk(item, redact)]));
}
