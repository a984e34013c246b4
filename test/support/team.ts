/** A team as its users have it: a PostgreSQL, a bare remote, machines with a home, a clone and a line of their own, and workers. */
import { existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { ReplyBlock } from "../../src/rehearsal/reply.js";
import type { RunEvent } from "../../src/run/event.js";
import { type CutLine, cutLine } from "./cut-line.js";
import { eventually } from "./eventually.js";
import { type PlannedPhase, planFiles } from "./plans.js";
import { asOwner, PASSWORD, postgres, type Server } from "./postgres.js";
import { git, scratchFolder, scratchRepo, whenOver } from "./scratch.js";
import { type Running, type Site, type SiteOptions, site } from "./segno.js";

export interface TeamMachine {
  name: string;
  home: string;
  clone: string;
  line: CutLine;
  /** Where its clone finds the remote: a link, so that it can be taken away. */
  remote: string;
  env: Record<string, string>;
}

export interface TeamSite extends Site {
  server: Server;
  /** The bare repository. */
  remote: string;
  /** `home`: where it is to be, if that matters. */
  machine(name: string, home?: string): Promise<TeamMachine>;
  /** Starts a worker there, and waits until it works. */
  worker(machine: TeamMachine, args?: string[], env?: Record<string, string>): Promise<Running>;
  /** What the journal holds now, read past every line. */
  events(): Promise<(RunEvent & { scope: string; run: string })[]>;
  /** As the database's owner. */
  sql(text: string): Promise<unknown>;
  /** When which session of which worker wrote: `phase` → moments. */
  beats(): Beat[];
}

export interface Beat {
  at: number;
  worker: string;
  session: string;
  phase: string;
}

let databases = 0;

export interface TeamOptions {
  phases: readonly PlannedPhase[];
  agent?: SiteOptions["agent"];
  /** How long each task takes, in tenths of a second. */
  tenths?: number;
  charsPerTask?: number;
  /** More of `.segno/config.yaml`. */
  config?: string;
  behave?: SiteOptions["behave"];
}

export async function teamSite({
  phases,
  agent = "scripted",
  tenths = 0,
  charsPerTask = 1,
  config = "",
  behave,
}: TeamOptions): Promise<TeamSite> {
  const server = await postgres();
  const name = `team_cli_${++databases}`;
  await asOwner(server.config, `CREATE DATABASE ${name}`);
  const repo = scratchRepo({ ...planFiles(phases), ".segno/config.yaml": `permission_mode: all\n${config}` });
  const remote = join(scratchFolder(), "remote.git");
  git(repo, "clone", "--quiet", "--bare", repo, remote);
  git(repo, "remote", "add", "origin", remote);
  git(repo, "fetch", "--quiet", "origin");
  const log = join(scratchFolder(), "beats");
  const withBeats = (blocks: readonly ReplyBlock[]): ReplyBlock[] =>
    blocks.map((block) => {
      if (block.type !== "tool_use" || block.name !== "Bash" || tenths === 0) return block;
      const beat = `for i in $(seq ${tenths}); do echo "$(date +%s%3N) $SEGNO_SESSION" >> '${log}'; sleep 0.1; done`;
      return { ...block, input: { ...block.input, command: `${beat}; ${String(block.input.command)}` } };
    });
  const base = await site({
    repo,
    agent,
    charsPerTask,
    behave: async (request, worker) => {
      const reply = await (behave === undefined ? worker(request) : behave(request, worker));
      return reply.type === "message" ? { ...reply, content: withBeats(reply.content) } : reply;
    },
  });
  const pass = (home: string): void => writeFileSync(join(home, ".pgpass"), `*:*:*:*:${PASSWORD}\n`, { mode: 0o600 });
  pass(base.home);
  const url = (port: number): string => `postgres://owner@127.0.0.1:${port}/${name}`;
  const made = await base.segno(["team", "init", url(server.port)]).ended;
  expect(made.code, made.stdout + made.stderr).toBe(0);
  git(repo, "add", "--all", ".segno");
  git(repo, "commit", "--quiet", "-m", "team");
  git(repo, "push", "--quiet", "origin", "HEAD");
  return {
    ...base,
    server,
    remote,
    machine: async (machine, home = scratchFolder()) => {
      const place = scratchFolder();
      const link = join(place, "remote.git");
      symlinkSync(remote, link);
      git(place, "clone", "--quiet", link, "clone");
      pass(home);
      const line = await cutLine(server.port);
      return {
        name: machine,
        home,
        clone: join(place, "clone"),
        line,
        remote: link,
        env: { HOME: home, SEGNO_TEAM_DATABASE: url(line.port) },
      };
    },
    worker: async (machine, args = [], env = {}) => {
      const started = base.segno(["worker", "--name", machine.name, ...args], {
        cwd: machine.clone,
        env: { ...machine.env, ...env },
      });
      whenOver(() => started.kill("SIGKILL"));
      let over = false;
      void started.ended.then(() => {
        over = true;
      });
      const works = (): boolean => started.said().includes("Worker ");
      await eventually(`worker ${machine.name} works, or has ended`, () => works() || over);
      if (!works()) throw new Error(`worker ${machine.name} did not begin:\n${started.said()}`);
      return started;
    },
    events: async () => {
      const rows = await asOwner<{ run: string; seq: string; at: string; epoch: number; scope: string; body: string }>(
        { ...server.config, database: name },
        "SELECT run, seq, at, epoch, scope, body FROM segno.events ORDER BY run, seq",
      );
      return rows.map(({ run, seq, at, epoch, scope, body }) => ({
        ...(JSON.parse(body) as RunEvent),
        run,
        scope,
        seq: Number(seq),
        at,
        epoch,
      }));
    },
    sql: (text) => asOwner({ ...server.config, database: name }, text),
    beats: () => {
      if (!existsSync(log)) return [];
      return readFileSync(log, "utf8")
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => {
          const [at = "", marker = ""] = line.split(" ");
          const [, worker = "", , session = ""] = marker.split(":");
          return { at: Number(at), worker, session, phase: session.split("/")[0] ?? "" };
        });
    },
  };
}

/** Moments in which a phase was worked on by two at once: by what they wrote themselves. */
export function overlaps(beats: readonly Beat[]): string[] {
  const found: string[] = [];
  for (const phase of new Set(beats.map((beat) => beat.phase))) {
    const own = beats.filter((beat) => beat.phase === phase).sort((a, b) => a.at - b.at);
    const over = new Set<string>();
    for (const [n, beat] of own.entries()) {
      const key = `${beat.worker} ${beat.session}`;
      if (over.has(key)) found.push(`phase ${phase}: ${key} wrote at ${beat.at}, after another had`);
      const before = own[n - 1];
      if (before !== undefined && `${before.worker} ${before.session}` !== key)
        over.add(`${before.worker} ${before.session}`);
    }
  }
  return found;
}
