/** What opencode is started with: our tools, the plugin that asks us, and nothing that waits for a person. */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { SERVER_NAME } from "../../tools/server-name.js";
import type { SessionOptions } from "../agent.js";
import { isObject } from "../is-object.js";
import type { SessionDoor } from "../session-door.js";

const REHEARSAL = "segno_rehearsal";
const REHEARSAL_WINDOW = { context: 200_000, output: 32_000 };

/** Beside the environment of the session; what the user gives there in the same way is kept. */
export function environment(
  options: SessionOptions,
  door: SessionDoor,
  plugin: string,
  password: string,
): Record<string, string> {
  const { env, isolated } = options;
  const own = {
    ...configuration(options, door),
    plugin: [...pluginsIn(env.OPENCODE_CONFIG_CONTENT), pathToFileURL(plugin).href],
  };
  return {
    OPENCODE_CONFIG_CONTENT: JSON.stringify(merged(objectIn(env.OPENCODE_CONFIG_CONTENT), own)),
    OPENCODE_SERVER_PASSWORD: password,
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    ...(isolated ? ISOLATED : {}),
  };
}

const ISOLATED = {
  OPENCODE_DISABLE_MODELS_FETCH: "1",
  OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
  OPENCODE_DISABLE_PROJECT_CONFIG: "1",
  OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
};

function configuration(options: SessionOptions, { url, token }: SessionDoor): Record<string, unknown> {
  const { permissions, compacts, isolated, env, model } = options;
  return {
    mcp: {
      [SERVER_NAME]: {
        type: "remote",
        url,
        enabled: true,
        oauth: false,
        headers: { Authorization: `Bearer ${token}` },
      },
    },
    autoupdate: false,
    share: "disabled",
    ...(compacts ? {} : { compaction: { auto: false, prune: false } }),
    permission: { ...(permissions === "listed" ? {} : { "*": "allow" }), question: "deny" },
    ...(isolated ? rehearsed(env, model) : {}),
  };
}

/** The model on loopback, in place of whatever the user has. */
function rehearsed(env: Readonly<Record<string, string>>, model = "stand-in"): Record<string, unknown> {
  return {
    provider: {
      [REHEARSAL]: {
        npm: "@ai-sdk/openai-compatible",
        name: REHEARSAL,
        options: { baseURL: env.OPENAI_BASE_URL ?? "http://127.0.0.1:9/v1", apiKey: env.OPENAI_API_KEY ?? "none" },
        models: { [model]: { name: model, limit: REHEARSAL_WINDOW } },
      },
    },
    model: `${REHEARSAL}/${model}`,
    small_model: `${REHEARSAL}/${model}`,
  };
}

/** How its API names a model; undefined: its own default. */
export function modelOf({ model, isolated }: SessionOptions): { providerID: string; modelID: string } | undefined {
  if (model === undefined) return undefined;
  if (isolated) return { providerID: REHEARSAL, modelID: model };
  const [providerID = "", ...rest] = model.split("/");
  return rest.length === 0 ? undefined : { providerID, modelID: rest.join("/") };
}

/**
 * It installs a package of its own into each folder with a configuration before it answers, unless that folder looks as if
 * it had: in the home of a rehearsal nobody needs it.
 */
export function seedHome(home: string): void {
  const folder = join(home, ".config", "opencode");
  mkdirSync(join(folder, "node_modules"), { recursive: true });
  const lock = { packages: { "": { dependencies: { "@opencode-ai/plugin": "*" } } } };
  writeFileSync(join(folder, "package-lock.json"), JSON.stringify(lock));
}

function objectIn(text: string | undefined): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text ?? "{}");
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

const pluginsIn = (text: string | undefined): unknown[] => {
  const { plugin } = objectIn(text);
  return Array.isArray(plugin) ? plugin : [];
};

function merged(under: Record<string, unknown>, over: Record<string, unknown>): Record<string, unknown> {
  const all = { ...under };
  for (const [key, value] of Object.entries(over)) {
    const below = all[key];
    all[key] = isObject(value) && isObject(below) ? merged(below, value) : value;
  }
  return all;
}
