import { existsSync, statfsSync } from "node:fs";
import { basename, join } from "node:path";
import { shortcomings } from "../../agents/agent.js";
import { findProcesses, sweep } from "../../agents/processes.js";
import { agentNames } from "../../agents/registry.js";
import type { Config } from "../../config/schema.js";
import { findPlan } from "../../engine/find-plan.js";
import { isOfRun } from "../../engine/marker.js";
import { planFiles } from "../../engine/plan-files.js";
import { openRepository } from "../../git/start.js";
import type { Plan } from "../../plan/model.js";
import { parsePlan } from "../../plan/parse.js";
import { agentsNamed } from "../../run/choosing.js";
import { FileStore } from "../../store/file.js";
import { agentFor } from "../agent.js";
import { askChoice, isTerminal } from "../ask.js";
import { unconfirmed } from "../confirm-commands.js";
import { EXIT } from "../exit.js";
import { MODES } from "../permission.js";
import { readSettings } from "../settings.js";
import { repositoryTop } from "../top.js";
import { wordsOf } from "../words.js";
import { DEBUSSY, hasDebussy } from "./init.js";

interface Finding {
  name: string;
  ok: boolean;
  detail: string;
  fix?: string;
}

const LEAST_FREE_GB = 1;

/** Looks at everything a run needs, and says what to do about what is missing. */
export async function doctorCommand(flags: { json?: boolean; fix?: boolean; agents?: boolean }): Promise<number> {
  const json = flags.json === true;
  const findings = [
    node(),
    await repository(),
    disk(),
    await permissions(),
    ...(await agents(flags.agents === true)),
    await leftovers(flags.fix === true, json),
    ...(await team(json)),
    ...(await otherTool()),
  ];
  if (json) console.log(JSON.stringify({ ok: findings.every((finding) => finding.ok), findings }));
  else {
    for (const { name, ok, detail, fix } of findings) {
      console.log(
        `${ok ? "✓" : "✗"} ${name.padEnd(12)} ${indented(detail)}${!ok && fix !== undefined ? `\n${" ".repeat(15)}${indented(fix)}` : ""}`,
      );
    }
  }
  return findings.every((finding) => finding.ok) ? EXIT.done : EXIT.failed;
}

const indented = (text: string): string => text.replaceAll("\n", `\n${" ".repeat(15)}`);

function node(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const ok = major > 20 || (major === 20 && minor >= 19);
  return { name: "node", ok, detail: process.version, fix: "Segno needs Node 20.19 or later." };
}

async function repository(): Promise<Finding> {
  const opened = await openRepository(process.cwd()).catch(() => undefined);
  if (opened === undefined) return { name: "git", ok: false, detail: "git cannot be started", fix: "Install git." };
  if (!opened.ok) {
    const words = wordsOf({ type: "repository", problem: opened.problem, detail: opened.detail });
    return { name: "git", ok: false, detail: words.what, fix: words.next };
  }
  const identity = await opened.git.attempt(["var", "GIT_COMMITTER_IDENT"]);
  if (!identity.ok) {
    return {
      name: "git",
      ok: false,
      detail: "git does not know who you are",
      fix: 'git config user.name "Your Name" && git config user.email you@example.com',
    };
  }
  const changed = opened.changed.length === 0 ? "clean" : `${opened.changed.length} changed files`;
  return { name: "git", ok: true, detail: `${basename(opened.git.top)}, branch ${opened.branch}, ${changed}` };
}

/** Where a team is set up: whether it can be reached, and what that means for this machine. */
async function team(json: boolean): Promise<Finding[]> {
  const top = await repositoryTop();
  if (!top.ok || !existsSync(join(top.value, ".segno", "team.yaml"))) return [];
  const { reachTeam } = await import("../team.js");
  const reached = await reachTeam(top.value, { json });
  if (!reached.ok) {
    const { what, next } = wordsOf(reached.failure);
    return [{ name: "team", ok: false, detail: what, fix: next }];
  }
  const { database, settings } = reached.value;
  await database.close();
  const isolated =
    "not isolated: agents that work here run as your user, and can read what you can, the database's password included";
  return [{ name: "team", ok: true, detail: `${database.where} as ${settings.url.user}\n${isolated}` }];
}

function disk(): Finding {
  const { bavail, bsize } = statfsSync(process.cwd());
  const free = (bavail * bsize) / 1e9;
  return {
    name: "disk",
    ok: free >= LEAST_FREE_GB,
    detail: `${free.toFixed(1)} GB free`,
    fix: `Make room: at least ${LEAST_FREE_GB} GB.`,
  };
}

async function permissions(): Promise<Finding> {
  const settings = await readSettings(process.cwd(), {});
  if (!settings.ok)
    return { name: "settings", ok: false, detail: wordsOf(settings.failure).what, fix: "See `segno config`." };
  const mode = settings.value.config.permission_mode;
  if (mode === undefined)
    return {
      name: "permissions",
      ok: false,
      detail: "no permission_mode is chosen",
      fix: wordsOf({ type: "no-permission-mode" }).next,
    };
  const meaning = MODES.find(({ name }) => name === mode)?.meaning ?? "";
  return { name: "permissions", ok: true, detail: `${mode}: ${meaning}` };
}

/** The agents that the configuration names, or all that there are, each with what it could do here. */
async function agents(all: boolean): Promise<Finding[]> {
  const settings = await readSettings(process.cwd(), {});
  const config = settings.ok ? settings.value.config : undefined;
  const named = config === undefined ? ["claude"] : agentsNamed(config, (await planHere()) ?? { phases: [] });
  const unasked = settings.ok ? unconfirmed(settings.value).map((command) => `acp:${command}`) : [];
  const findings: Finding[] = [];
  for (const name of all ? [...new Set([...named, ...agentNames()])] : named)
    findings.push(await agentFinding(name, config, named.includes(name), unasked));
  return findings;
}

/** The plan that a run would take, if there is one: it may name agents, too. */
async function planHere(): Promise<Plan | undefined> {
  const top = await repositoryTop();
  if (!top.ok) return undefined;
  const found = await findPlan(top.value, process.cwd(), undefined, {});
  return found.ok ? parsePlan(found.value, planFiles(top.value).read).plan : undefined;
}

async function agentFinding(
  name: string,
  config: Config | undefined,
  isNamed: boolean,
  unasked: readonly string[],
): Promise<Finding> {
  if (unasked.includes(name))
    return {
      name: "agent",
      ok: false,
      detail: `${name}: the project's configuration names this command, and nobody has confirmed it: not started.`,
      fix: "Confirm it with the first run at a terminal, or name it in your own configuration file.",
    };
  const found = await agentFor(name, "user", config?.accounts);
  if (!found.ok) {
    const { what, next } = wordsOf(found.failure);
    return { name: "agent", ok: false, detail: what, fix: next };
  }
  const { title, help, levels } = found.value;
  const checked = await found.value.check(environment(), process.cwd());
  const level = config?.permission_mode;
  const means = level === undefined ? [] : [levelMeans(level, levels[level])];
  const cannot = shortcomings(found.value, { sandbox: config?.sandbox ?? false });
  const here = level === undefined ? undefined : found.value.refusesHere?.(level, environment());
  if (checked.ok && isNamed && here !== undefined)
    return { name: "agent", ok: false, detail: `${name}: ${here.why}`, fix: here.fix };
  if (checked.ok) {
    const ok = !isNamed || level === undefined || levels[level] !== undefined;
    const fix = `Choose ${Object.keys(levels).join(", ")}: segno config set permission_mode all, or another agent.`;
    return { name: "agent", ok, detail: [`${name}, ${checked.account}`, ...means, ...cannot].join("\n"), fix };
  }
  const words = wordsOf(
    checked.problem === "no-login"
      ? { type: "no-login", agent: title, help: help.login }
      : { type: "no-agent", agent: title, help: help.install, detail: checked.detail },
  );
  // One that nobody named is not missing.
  return isNamed
    ? { name: "agent", ok: false, detail: words.what, fix: words.next }
    : {
        name: "agent",
        ok: true,
        detail: [`${name}: ${checked.detail || "not logged in"}. ${words.next}`, ...means, ...cannot].join("\n"),
      };
}

const levelMeans = (level: string, meaning: string | undefined): string =>
  meaning === undefined
    ? `permission_mode: ${level} is more than it can keep`
    : `permission_mode: ${level} means: ${meaning}`;

const environment = (): Record<string, string> =>
  Object.fromEntries(Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined));

/** Another tool's configuration that could be taken over. */
async function otherTool(): Promise<Finding[]> {
  const opened = await openRepository(process.cwd()).catch(() => undefined);
  if (opened === undefined || !opened.ok || !hasDebussy(opened.git.top)) return [];
  if (existsSync(join(opened.git.top, ".segno/config.yaml"))) return [];
  return [{ name: "debussy", ok: true, detail: `${DEBUSSY} is there: segno init --from-debussy takes its keys over` }];
}

/** Processes of runs that no living Segno holds. */
async function leftovers(fix: boolean, json: boolean): Promise<Finding> {
  const opened = await openRepository(process.cwd()).catch(() => undefined);
  const name = "left-overs";
  if (opened === undefined || !opened.ok) return { name, ok: true, detail: "none looked for" };
  const { top } = opened.git;
  const store = new FileStore(top);
  const dead: string[] = [];
  for (const run of await store.list()) if ((await store.holder(run)) === undefined) dead.push(run);
  const isDead = (marker: string) => dead.some((run) => isOfRun(run)(marker));
  const found = await findProcesses(isDead);
  if (found.length === 0) return { name, ok: true, detail: "no process of a dead run" };
  const detail = `${found.length} processes of dead runs: ${found.map(({ pid }) => pid).join(", ")}`;
  const agreed =
    fix ||
    (isTerminal(json) &&
      (await askChoice(`${detail}. End them?`, [
        { name: "yes", meaning: "end them now" },
        { name: "no", meaning: "leave them" },
      ])) === "yes");
  if (!agreed) return { name, ok: false, detail, fix: "End them: segno doctor --fix" };
  const ended = await sweep(isDead);
  return { name, ok: true, detail: `${ended} processes of dead runs were ended` };
}
