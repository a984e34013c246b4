/** The built command as a user calls it, with the stand-in model behind it. */
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { seedHome } from "../../src/agents/opencode/config.js";
import { type Behaviour, type Exchange, startStandIn } from "../../src/rehearsal/server.js";
import { worker } from "../../src/rehearsal/worker.js";
import type { RunEvent } from "../../src/run/event.js";
import { scratchFolder, whenOver } from "./scratch.js";

export const SEGNO = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
/** Where `npm run test:agents` puts it. */
export const CODEX = fileURLToPath(new URL("../../.agents/node_modules/.bin/codex", import.meta.url));
export const OPENCODE = fileURLToPath(new URL("../../.agents/node_modules/.bin/opencode", import.meta.url));
export const GEMINI = fileURLToPath(new URL("../../.agents/node_modules/.bin/gemini", import.meta.url));
export const COPILOT_SDK = fileURLToPath(
  new URL("../../.agents/node_modules/@github/copilot-sdk/dist/index.js", import.meta.url),
);
const KILL_AT = new URL("./kill-at.mjs", import.meta.url).href;
const PRELOAD_AGENT = new URL("./preload-agent.mjs", import.meta.url).href;

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface Running {
  pid: number;
  ended: Promise<Ended>;
  /** Resolves with the first event (from `--json`) that fits; rejects when the process ends without one. */
  event(fits: (event: RunEvent) => boolean): Promise<RunEvent>;
  kill(signal: NodeJS.Signals): void;
  /** What it printed so far. */
  said(): string;
}

export interface Site {
  repo: string;
  home: string;
  env: Record<string, string>;
  done: string[];
  exchanges: Exchange[];
  segno(
    args: string[],
    options?: {
      env?: Record<string, string>;
      killAt?: number;
      signal?: NodeJS.Signals;
      aliveFile?: string;
      fullAt?: number;
      cwd?: string;
    },
  ): Running;
}

export interface SiteOptions {
  repo: string;
  charsPerTask?: number;
  window?: number;
  /** Who works: the real Claude Code where it is the subject, else the agent in process. */
  agent?: "claude" | "codex" | "copilot" | "gemini" | "opencode" | "scripted";
  /** Others that are installed and set up, too. */
  others?: ("codex" | "opencode")[];
  behave?: (request: Parameters<Behaviour>[0], worker: Behaviour) => ReturnType<Behaviour>;
}

/** A repository, a home and a model of its own. */
export async function site({
  repo,
  charsPerTask = 0,
  window = 200_000,
  agent = "scripted",
  others = [],
  behave,
}: SiteOptions): Promise<Site> {
  const done: string[] = [];
  const exchanges: Exchange[] = [];
  const home = scratchFolder();
  const standard = worker({
    charsPerTask,
    onTask: ({ phase, task }) => done.push(`${phase}/${task}`),
    onRefused: ({ phase, task }) => void done.splice(done.lastIndexOf(`${phase}/${task}`), 1),
  });
  const standIn = await startStandIn({
    window,
    behaviour: (request) => (behave === undefined ? standard(request) : behave(request, standard)),
    onExchange: (exchange) => exchanges.push(exchange),
  });
  whenOver(() => standIn.close());
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: home,
    ANTHROPIC_BASE_URL: standIn.url,
    ANTHROPIC_API_KEY: "not-a-real-key",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_AUTOUPDATER: "1",
    IS_SANDBOX: "1",
    SEGNO_MODEL: "claude-sonnet-4-5",
    SEGNO_PERMISSION_MODE: "bypassPermissions",
    // What dies here is taken up again by the test, or not at all.
    SEGNO_REVIVE: "false",
    GIT_CONFIG_GLOBAL: `${process.env.HOME}/.gitconfig`,
    ...(agent === "scripted" ? { SEGNO_AGENT: agent, NODE_OPTIONS: `--import ${PRELOAD_AGENT}` } : {}),
    ...(agent === "codex" || others.includes("codex") ? codexEnv(home, standIn.url) : {}),
    ...(agent === "opencode" || others.includes("opencode") ? opencodeEnv(home, standIn.url) : {}),
    ...(agent === "gemini" ? geminiEnv(standIn.url) : {}),
    ...(agent === "copilot" ? copilotEnv(standIn.url) : {}),
    ...(agent === "claude" || agent === "scripted" ? {} : { SEGNO_AGENT: agent }),
    ...(agent === "opencode" ? { SEGNO_MODEL: "own/claude-sonnet-4-5" } : {}),
  };
  return {
    repo,
    home,
    env,
    done,
    exchanges,
    segno: (args, options = {}) => {
      const preload =
        options.killAt !== undefined || options.aliveFile !== undefined || options.fullAt !== undefined
          ? ["--import", KILL_AT]
          : [];
      return start([...preload, SEGNO, ...args], options.cwd ?? repo, {
        ...env,
        ...(options.killAt === undefined
          ? {}
          : { KILL_AT: String(options.killAt), KILL_SIGNAL: options.signal ?? "SIGKILL" }),
        ...(options.fullAt === undefined ? {} : { FULL_AT: String(options.fullAt) }),
        ...(options.aliveFile === undefined ? {} : { ALIVE_FILE: options.aliveFile }),
        ...options.env,
      });
    },
  };
}

/** As a user has Codex: a configuration of their own, which names the provider. */
function codexEnv(home: string, url: string): Record<string, string> {
  mkdirSync(join(home, ".codex"));
  writeFileSync(
    join(home, ".codex/config.toml"),
    `model = "claude-sonnet-4-5"\nmodel_provider = "own"\nmodel_context_window = 200000\n\n[model_providers.own]\nname = "own"\nbase_url = "${url}/v1"\nwire_api = "responses"\nenv_key = "OPENAI_API_KEY"\nsupports_websockets = false\n\n[analytics]\nenabled = false\n`,
  );
  return { SEGNO_CODEX: CODEX, OPENAI_API_KEY: "not-a-real-key" };
}

/** As a user has Copilot with a provider of their own. */
const copilotEnv = (url: string): Record<string, string> => ({
  SEGNO_COPILOT_SDK: COPILOT_SDK,
  COPILOT_OFFLINE: "true",
  COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
  COPILOT_PROVIDER_WIRE_API: "completions",
  COPILOT_PROVIDER_API_KEY: "not-a-real-key",
  COPILOT_PROVIDER_MAX_PROMPT_TOKENS: "200000",
});

/** As a user has Gemini CLI: a key of their own. */
const geminiEnv = (url: string): Record<string, string> => ({
  SEGNO_GEMINI: GEMINI,
  SEGNO_MODEL: "gemini-2.5-pro",
  GEMINI_API_KEY: "not-a-real-key",
  GOOGLE_GEMINI_BASE_URL: url,
});

/** As a user has opencode: a configuration of their own, which names the provider. */
function opencodeEnv(home: string, url: string): Record<string, string> {
  const folder = join(home, ".config/opencode");
  seedHome(home);
  const models = { "claude-sonnet-4-5": { limit: { context: 200_000, output: 32_000 } } };
  const own = { npm: "@ai-sdk/openai-compatible", options: { baseURL: `${url}/v1`, apiKey: "not-a-real-key" }, models };
  writeFileSync(join(folder, "opencode.json"), JSON.stringify({ provider: { own }, model: "own/claude-sonnet-4-5" }));
  return {
    SEGNO_OPENCODE: OPENCODE,
    OPENCODE_DISABLE_MODELS_FETCH: "1",
    OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
  };
}

function start(args: string[], cwd: string, env: Record<string, string>): Running {
  const child = spawn(process.execPath, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  let stdout = "";
  let stderr = "";
  let over = false;
  const waiting: {
    fits: (event: RunEvent) => boolean;
    resolve: (event: RunEvent) => void;
    reject: (error: Error) => void;
  }[] = [];
  const seen: RunEvent[] = [];
  let rest = "";
  child.stdout.on("data", (data: Buffer) => {
    stdout += data.toString();
    rest += data.toString();
    const lines = rest.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (!line.startsWith("{")) continue;
      const event = JSON.parse(line) as RunEvent;
      seen.push(event);
      for (const waiter of waiting) if (waiter.fits(event)) waiter.resolve(event);
    }
  });
  child.stderr.on("data", (data: Buffer) => {
    stderr += data.toString();
  });
  const ended = new Promise<Ended>((resolve) => {
    child.on("close", (code, signal) => {
      over = true;
      for (const waiter of waiting)
        waiter.reject(
          new Error(`segno ended (${code ?? signal}) before the event came:\n${stdout.slice(-2_000)}\n${stderr}`),
        );
      resolve({ code, signal, stdout, stderr });
    });
  });
  whenOver(() => child.kill("SIGKILL"));
  return {
    pid: child.pid ?? 0,
    ended,
    event: (fits) =>
      new Promise((resolve, reject) => {
        const already = seen.find(fits);
        if (already !== undefined) resolve(already);
        else if (over) reject(new Error(`segno has ended:\n${stdout.slice(-2_000)}\n${stderr}`));
        else waiting.push({ fits, resolve, reject });
      }),
    kill: (signal) => void child.kill(signal),
    said: () => stdout + stderr,
  };
}

export const eventsOf = ({ stdout }: Ended): RunEvent[] =>
  stdout
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as RunEvent);

/** Holds the model's answers back until the test lets them go: what happens in between is not a matter of speed. */
export function latch(): {
  held: () => Promise<void>;
  release: () => void;
  behave: NonNullable<SiteOptions["behave"]>;
} {
  let release = () => {};
  let arrived = () => {};
  const opened = new Promise<void>((resolve) => {
    release = resolve;
  });
  const waiting = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  return {
    held: () => waiting,
    release: () => release(),
    behave: async (request, worker) => {
      arrived();
      await opened;
      return worker(request);
    },
  };
}
