import { EXIT } from "../exit.js";
import { printFailure } from "../print-failure.js";
import { type ConfigFlags, readSettings } from "../settings.js";

const WHERE = {
  default: "default",
  file: ".segno/config.yaml",
  environment: "environment",
  flag: "flag",
  preset: "preset",
};

/** The effective values, and where each comes from. */
export async function configCommand(flags: ConfigFlags & { json?: boolean }): Promise<number> {
  const json = flags.json === true;
  const settings = await readSettings(process.cwd(), flags);
  if (!settings.ok) return printFailure(settings.failure, json);
  const { config, sources } = settings.value;
  const rows = Object.entries(sources).map(([key, source]) => {
    return {
      key,
      value: (config as Record<string, unknown>)[key] ?? null,
      source: WHERE[source],
      variable: `SEGNO_${key.toUpperCase()}`,
    };
  });
  if (json) {
    console.log(JSON.stringify(Object.fromEntries(rows.map(({ key, value, source }) => [key, { value, source }]))));
    return EXIT.done;
  }
  const widest = Math.max(...rows.map(({ key }) => key.length));
  for (const { key, value, source } of rows)
    console.log(`${key.padEnd(widest)}  ${String(value ?? "not set").padEnd(24)}  ${source}`);
  console.log(
    `\nfile: ${settings.value.file}\nEvery key can also be set in the environment: SEGNO_CONTEXT_THRESHOLD=70`,
  );
  return EXIT.done;
}
