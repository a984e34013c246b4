/** `config`: the effective values and where each comes from; one of them; a change, with the file's comments kept. */
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { parse, parseDocument } from "yaml";
import { loadConfig } from "../../config/load.js";
import { type Config, configSchema } from "../../config/schema.js";
import { nearest } from "../../config/suggest.js";
import { handoverPoint, handoversOn, limitsOf } from "../../context/policy.js";
import { writeWhole } from "../../store/atomic.js";
import { handsOverText } from "../../view/handover-rules.js";
import { thousands } from "../../view/numbers.js";
import { EXIT } from "../exit.js";
import { printFailure } from "../print-failure.js";
import { readSettings, type Settings, userFile } from "../settings.js";

const WHERE = {
  default: "default",
  implied: "because context_threshold is set",
  user: "your own file",
  file: ".segno/config.yaml",
  environment: "environment",
  flag: "flag",
  preset: "preset",
};

export interface ConfigCommandFlags {
  json?: boolean;
  user?: boolean;
}

export async function configCommand(
  action: string | undefined,
  key: string | undefined,
  value: string | undefined,
  flags: ConfigCommandFlags,
): Promise<number> {
  const json = flags.json === true;
  const usage = (what: string, fix: string) => printFailure({ type: "usage", what, fix }, json);
  const settings = await readSettings(process.cwd(), {});
  if (action === undefined) return settings.ok ? show(settings.value, json) : printFailure(settings.failure, json);
  if (!["get", "set", "unset"].includes(action))
    return usage(
      `There is no segno config ${action}.`,
      "segno config, segno config get KEY, segno config set KEY VALUE.",
    );
  const known = Object.keys(configSchema.shape);
  if (key === undefined || !known.includes(key)) {
    const near = key === undefined ? undefined : nearest(key, known);
    const what = key === undefined ? "No key was named." : `There is no key ${key}.`;
    return usage(what, near === undefined ? `Keys: ${known.join(", ")}.` : `Did you mean ${near}?`);
  }
  if (action === "get") {
    if (!settings.ok) return printFailure(settings.failure, json);
    const found = (settings.value.config as Record<string, unknown>)[key] ?? null;
    const source = settings.value.sources[key] ?? "default";
    console.log(json ? JSON.stringify({ key, value: found, source: WHERE[source] }) : words(found));
    return EXIT.done;
  }
  if (action === "set" && value === undefined)
    return usage(`No value for ${key} was given.`, `segno config set ${key} VALUE`);
  const file = flags.user === true ? userFile() : await projectFile(settings.ok ? settings.value : undefined);
  return change(file, key, action === "set" ? value : undefined, json);
}

/** Also where the configuration cannot be read as it is: a change may be what puts it right. */
async function projectFile(settings: Settings | undefined): Promise<string> {
  return settings?.file ?? `${process.cwd()}/.segno/config.yaml`;
}

function change(file: string, key: string, value: string | undefined, json: boolean): number {
  const before = existsSync(file) ? readFileSync(file, "utf8") : "";
  const document = parseDocument(before);
  if (value === undefined) document.delete(key);
  else document.set(key, parse(value));
  const after = document.contents === null ? "" : String(document);
  const loaded = loadConfig([{ name: "file", source: after }]);
  if (!loaded.ok) {
    const problems = loaded.problems.map(({ layer: _, ...problem }) => ({ file, ...problem }));
    return printFailure({ type: "config", problems }, json);
  }
  mkdirSync(dirname(file), { recursive: true });
  writeWhole(file, after);
  const now = (loaded.config as Record<string, unknown>)[key] ?? null;
  if (json) console.log(JSON.stringify({ file, key, value: now }));
  else
    console.log(value === undefined ? `${key} is not set in ${file} any more.` : `${key}: ${words(now)}, in ${file}`);
  return EXIT.done;
}

const words = (value: unknown): string =>
  value === null || value === undefined ? "not set" : typeof value === "object" ? JSON.stringify(value) : String(value);

/** Which of the rules counts depends on the window: in today's usual ones. */
function rulesOf(config: Config): string {
  if (!handoversOn(config)) return "never handed over";
  const soft = config.context_policy === "restart" ? config.context_soft : "off";
  const windows = config.context_limit === undefined ? [200_000, 1_000_000] : [config.context_limit];
  return windows
    .map((window) => {
      const words = handsOverText(handoverPoint(config, limitsOf(window)), soft, window);
      return `${words} in a window of ${thousands(window)}`;
    })
    .join(",\n             or ");
}

function show({ config, sources, file, refused }: Settings, json: boolean): number {
  const rows = Object.entries(sources).map(([key, source]) => ({
    key,
    value: (config as Record<string, unknown>)[key] ?? null,
    source: WHERE[source],
  }));
  if (json) {
    console.log(JSON.stringify(Object.fromEntries(rows.map(({ key, value, source }) => [key, { value, source }]))));
    return EXIT.done;
  }
  const widest = Math.max(...rows.map(({ key }) => key.length));
  for (const { key, value, source } of rows)
    console.log(`${key.padEnd(widest)}  ${words(value).padEnd(24)}  ${source}`);
  console.log(`\na session is ${rulesOf(config)}`);
  for (const key of refused)
    console.log(`\n! ${key}: the project's file asks for more than your own permits; yours counts.`);
  console.log(
    `\nthe project's file: ${file}\nyour own:           ${userFile()}\nEvery key can also be set in the environment: SEGNO_CONTEXT_THRESHOLD=70`,
  );
  return EXIT.done;
}
