/** `worker`: this machine works for the team, until it is ended. */
import { existsSync, mkdirSync } from "node:fs";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import type { Agent, PermissionLevel } from "../../agents/agent.js";
import { sweep } from "../../agents/processes.js";
import { narrowerLevel } from "../../config/narrow.js";
import type { Config } from "../../config/schema.js";
import { bad, good, type Result } from "../../engine/failure.js";
import type { Equipment } from "../../engine/held-run.js";
import { isOwn } from "../../engine/marker.js";
import { Git } from "../../git/git.js";
import { agentsNamed } from "../../run/choosing.js";
import { LONGEST_LEASE_MS } from "../../team/lease.js";
import type { Machine } from "../../team/machine.js";
import { workForTeam } from "../../team/worker.js";
import { agentFor } from "../agent.js";
import { confirmCommands } from "../confirm-commands.js";
import { environmentWithout, realEquipment } from "../equipment.js";
import { EXIT } from "../exit.js";
import { joinTeam } from "../join-team.js";
import { permissionMode } from "../permission.js";
import { printFailure } from "../print-failure.js";
import { readSettings } from "../settings.js";
import { remoteUrl, type TeamFlags, teamHere, withoutSecret } from "../team.js";
import { repositoryTop } from "../top.js";
import { stateFolder } from "../worker-place.js";

export interface WorkerFlags extends TeamFlags {
  slots?: string;
  agents?: string;
  labels?: string;
  account?: string[];
  repo?: string;
  name?: string;
  permissionMode?: string;
}

const refuse = (what: string, fix: string): Result<never> => bad({ type: "usage", what, fix });
const list = (text = ""): string[] => text.split(",").flatMap((word) => (word.trim() === "" ? [] : [word.trim()]));

export async function workerCommand(flags: WorkerFlags, version: string): Promise<number> {
  const json = flags.json === true;
  const top = await repositoryOf(flags);
  if (!top.ok) return printFailure(top.failure, json);
  const slots = Number(flags.slots ?? 1);
  if (!Number.isInteger(slots) || slots < 1 || slots > 64)
    return printFailure(
      { type: "usage", what: `${flags.slots} is no number of slots.`, fix: "Say how many phases at once: --slots 2" },
      json,
    );
  const settings = await readSettings(
    top.value,
    flags.permissionMode === undefined ? {} : { permissionMode: flags.permissionMode },
  );
  if (!settings.ok) return printFailure(settings.failure, json);
  const { config } = settings.value;
  const level = await permissionMode(config, settings.value.file, json);
  if (!level.ok) return printFailure(level.failure, json);
  // Which agents to offer is the user's word, or a project's file says it: a command in that is confirmed first.
  const confirmed = flags.agents === undefined ? await confirmCommands(settings.value, json) : good(undefined);
  if (!confirmed.ok) return printFailure(confirmed.failure, json);
  const names = flags.agents === undefined ? [config.agent] : list(flags.agents);
  if (names.length === 0)
    return printFailure(
      { type: "usage", what: "A worker without an agent does nothing.", fix: "Name some: --agents claude,codex" },
      json,
    );
  const crew = await agentsOf(names, config);
  if (!crew.ok) return printFailure(crew.failure, json);
  const accounts = accountsOf(
    flags.account ?? [],
    crew.value.map(({ name }) => name),
  );
  if (!accounts.ok) return printFailure(accounts.failure, json);
  const here = await teamHere(top.value, flags);
  if (!here.ok) return printFailure(here.failure, json);
  const { redact, settings: team } = here.value;
  const url = await remoteUrl(new Git(top.value), team.remote);
  if (!url.ok) return printFailure(url.failure, json);
  const offered = {
    version,
    host: hostname(),
    slots,
    agents: Object.fromEntries(crew.value.map(({ name }) => [name, accounts.value[name] ?? "default"])),
    labels: list(flags.labels).map((label) => label.toLowerCase()),
  };
  const joined = await joinTeam(here.value, flags.name, offered);
  if (!joined.ok) return printFailure(joined.failure, json);
  const { place, offer, team: opened } = joined.value;
  // Marks what it starts, and tells its own from its neighbours' on this machine.
  process.env.SEGNO_WORKER = place.worker;
  const say = (text: string): void => {
    const clean = redact(text);
    console.log(json ? JSON.stringify({ at: new Date().toISOString(), worker: place.worker, text: clean }) : clean);
  };
  const machine: Machine = {
    worker: place.worker,
    offer,
    url: url.value,
    store: opened.store,
    database: opened.database,
    queues: opened.queues,
    folder: place.folder,
    longestLeaseMs: LONGEST_LEASE_MS,
    equipment: async (state) =>
      equipmentFor(state.config, crew.value, agentsNamed(state.config, state.plan), level.value, config, place.folder),
    redact,
    say,
  };
  say(
    `Worker ${place.worker}: ${slots} ${slots === 1 ? "slot" : "slots"}, ${crew.value.map(({ title }) => title).join(", ")}, may do: ${level.value}. Ctrl-C hands over what it has; twice ends at once.`,
  );
  const ends = new AbortController();
  endOnSignals(ends, say);
  await workForTeam(machine, ends.signal);
  await opened.close();
  place.release();
  say("ended");
  return EXIT.done;
}

/** Once: hand over. Twice: end now, with everything it started. */
function endOnSignals(ends: AbortController, say: (text: string) => void): void {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.on(signal, () => {
      if (!ends.signal.aborted) {
        say("ends: hands its phases over");
        return ends.abort();
      }
      if (signal === "SIGHUP") return;
      setTimeout(() => process.exit(EXIT.interrupted), 5_000).unref();
      void sweep(isOwn).then(() => process.exit(EXIT.interrupted));
    });
}

/** This repository, or a clone of the one that is named. */
async function repositoryOf(flags: WorkerFlags): Promise<Result<string>> {
  if (flags.repo === undefined) return repositoryTop();
  const named = await withoutSecret(flags.repo);
  if (!named.ok) return named;
  // A folder of this machine is meant from here, wherever git is started.
  const repo = existsSync(flags.repo) ? resolve(flags.repo) : flags.repo;
  const folder = join(stateFolder(), "sources", repo.replaceAll(/[^\w.-]+/g, "-").slice(-80));
  if (existsSync(join(folder, ".git"))) {
    const fetched = await new Git(folder).attempt(["pull", "--quiet", "--ff-only"]);
    return fetched.ok
      ? good(folder)
      : refuse(
          `${flags.repo} cannot be fetched: ${fetched.stderr.trim()}`,
          "Is it reachable from here, without a question?",
        );
  }
  mkdirSync(folder, { recursive: true });
  console.error("Cloning the repository …");
  const cloned = await new Git(folder).attempt(["clone", "--quiet", "--", repo, folder]);
  return cloned.ok
    ? good(folder)
    : refuse(
        `${flags.repo} cannot be cloned: ${cloned.stderr.trim()}`,
        "Is it reachable from here, without a question?",
      );
}

/** `claude=team-a`: agents with the same account share its limits. */
function accountsOf(said: readonly string[], agents: readonly string[]): Result<Record<string, string>> {
  const pairs = said.map((text) => text.split("="));
  const odd = said.find((_, n) => pairs[n]?.length !== 2 || pairs[n]?.includes("") === true);
  if (odd !== undefined)
    return refuse(`${odd} names no account.`, "Say whose account an agent uses: --account claude=team-a");
  const [other] = pairs.find(([agent = ""]) => !agents.includes(agent)) ?? [];
  if (other !== undefined)
    return refuse(
      `${other} is not among the agents that work here: ${agents.join(", ")}.`,
      "Name it in --agents, too.",
    );
  return good(Object.fromEntries(pairs as [string, string][]));
}

async function agentsOf(names: readonly string[], config: Config): Promise<Result<Agent[]>> {
  const agents: Agent[] = [];
  for (const name of names) {
    const found = await agentFor(name, "user", config.accounts);
    if (!found.ok) return found;
    const checked = await found.value.checkQuickly(environmentWithout(denied(config)), process.cwd());
    const { title, help } = found.value;
    if (!checked.ok)
      return checked.problem === "no-login"
        ? bad({ type: "no-login", agent: title, help: help.login })
        : bad({ type: "no-agent", agent: title, help: help.install, detail: checked.detail });
    agents.push(found.value);
  }
  return good(agents);
}

/** What the run allows, as far as this machine's user does, too. */
function equipmentFor(
  run: Config,
  offered: readonly Agent[],
  named: readonly string[],
  level: PermissionLevel,
  own: Config,
  folder: string,
): Equipment {
  const crew = offered.filter(({ name }) => named.includes(name));
  const [first] = offered;
  const agent = crew.find(({ name }) => name === run.agent) ?? crew[0] ?? (first as Agent);
  const others = crew.filter((each) => each !== agent);
  const env_deny = [...new Set([...run.env_deny, ...denied(own)])];
  const { equipment } = realEquipment(
    { agent, others },
    narrowerLevel(run.permission_mode ?? level, level),
    { env_deny, revive: false },
    true,
  );
  return { ...equipment, worktrees: join(folder, "worktrees"), onEvent: () => {} };
}

/** How the database is reached is no agent's business. */
const NOT_FOR_AGENTS = ["PGPASSWORD", "PGPASSFILE", "SEGNO_TEAM_*"];

const denied = ({ env_deny }: Config): string[] => [...env_deny, ...NOT_FOR_AGENTS];
