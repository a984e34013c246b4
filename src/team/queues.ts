/**
 * Who works on what: a job per run for who conducts it, a job per phase for who performs it. To hold a job is to hold the
 * lease; whoever gives no sign of life loses it.
 *
 * Invariants
 * 1. A run has at most one conductor, a phase at most one worker: a job's key is there once in a queue (`exclusive`); what a
 *    phase needs may change, and with it its queue: whoever offers it anew, or takes it, looks into the others.
 * 2. Signs of life, and the word that it is done, are of the attempt that was fetched: an old holder says nothing for the new.
 * 3. A queue's name says which repository it is for, and what is needed: nobody takes what they cannot do.
 */
import { createHash } from "node:crypto";
import type { Job, PgBoss } from "pg-boss";
import type { Needs } from "../run/team.js";
import { PROTOCOL } from "../store/postgres/schema.js";

export const BOSS_SCHEMA = "pgboss";

type QueueKind = "runs" | "phases";

export interface RunJob {
  run: string;
}

export interface PhaseJob extends RunJob {
  phase: string;
}

/** pg-boss gives a job up after this long without a sign of life; it takes no less. */
const LOST_SECONDS = 10;
/** However long it is held. Leases change hands more often than that. */
const HELD_SECONDS = 24 * 60 * 60 - 1;
const MANY_TIMES = 1_000_000;
const NOTHING: Needs = { agents: [], labels: [] };

const NOT_OVER: ReadonlySet<string> = new Set(["created", "retry", "active"]);

const keyOf = ({ run, phase }: PhaseJob): string => `${run}/${phase}`;

/** Only what a queue's name may hold. */
const word = (text: string): string =>
  /^[\w-]+$/.test(text) ? text : `x${createHash("sha256").update(text).digest("hex").slice(0, 12)}`;

const tokensOf = ({ agents, labels }: Needs): string[] => [
  ...agents.map((agent) => `agent-${word(agent)}`),
  ...labels.map((label) => `label-${word(label)}`),
];

/** One that waits for somebody, or that somebody has. */
interface OpenJob {
  queue: string;
  id: string;
  data: PhaseJob;
  isHeld: boolean;
}

/** By phase. */
export type OfferedPhases = ReadonlyMap<string, readonly OpenJob[]>;

/** One holding of a job. */
type JobAttempt = Pick<Job, "id" | "retryCount">;

export interface Taken<T> {
  queue: string;
  data: T;
  /** Said to mean this holding and no other. */
  attempt: JobAttempt;
}

export class Queues {
  readonly #boss: PgBoss;
  readonly #repo: string;
  readonly #made = new Set<string>();

  constructor(boss: PgBoss, repo: string) {
    this.#boss = boss;
    this.#repo = repo;
  }

  /** The protocol is in the name: another version has queues of its own. */
  #nameOf(kind: QueueKind, needs: Needs): string {
    return [`segno-${PROTOCOL}-${kind}-${word(this.#repo)}`, ...tokensOf(needs).sort()].join(".");
  }

  /** There is a job for it, whoever may have asked for it before. */
  async ensureRun(job: RunJob): Promise<void> {
    await this.#ensure(this.#nameOf("runs", NOTHING), job, job.run);
  }

  /** Those that somebody conducts, or that wait for somebody. */
  async runsOffered(): Promise<string[]> {
    const queues = await this.#ownQueues("runs");
    const jobs = await Promise.all(queues.map((name) => this.#boss.findJobs<RunJob>(name)));
    return jobs.flat().flatMap(({ state, data }) => (NOT_OVER.has(state) ? [data.run] : []));
  }

  /** Who has what of a run, and what is offered: one look for all of its phases. */
  async phasesOf(run: string): Promise<OfferedPhases> {
    const phases = new Map<string, OpenJob[]>();
    for (const job of await this.#openJobs())
      if (job.data.run === run) phases.set(job.data.phase, [...(phases.get(job.data.phase) ?? []), job]);
    return phases;
  }

  /** There is a job for it where it is wanted, and only there; whoever holds it is alive, or will be given up. */
  async ensurePhase(job: PhaseJob, needs: Needs, there: readonly OpenJob[]): Promise<void> {
    if (there.some(({ isHeld }) => isHeld)) return;
    const queue = this.#nameOf("phases", needs);
    for (const other of there) if (other.queue !== queue && !(await this.#withdraw(other))) return;
    if (!there.some((each) => each.queue === queue)) await this.#ensure(queue, job, keyOf(job));
  }

  /** It is not offered any more; false: somebody holds it. */
  async withdrawPhase(there: readonly OpenJob[]): Promise<boolean> {
    for (const job of there) if (!(await this.#withdraw(job))) return false;
    return true;
  }

  /** Somebody may take it in this very moment: it is theirs then. */
  async #withdraw({ queue, id }: OpenJob): Promise<boolean> {
    const sql = `DELETE FROM ${BOSS_SCHEMA}.job WHERE name = $1 AND id = $2 AND state < 'active' RETURNING id`;
    return (await this.#boss.getDb().executeSql(sql, [queue, id])).rows.length > 0;
  }

  /** Whether somebody took the same phase from another queue. */
  async isHeldElsewhere({ queue, data }: Taken<PhaseJob>): Promise<boolean> {
    const same = (await this.#openJobs(keyOf(data))).filter((other) => other.queue !== queue);
    return same.some(({ isHeld }) => isHeld);
  }

  /** Jobs for phases that are not over. */
  async #openJobs(key?: string): Promise<OpenJob[]> {
    const found = await Promise.all(
      (await this.#ownQueues("phases")).map(async (queue) =>
        (await this.#boss.findJobs<PhaseJob>(queue, key === undefined ? {} : { key })).flatMap(({ id, state, data }) =>
          NOT_OVER.has(state) ? [{ queue, id, data, isHeld: state === "active" }] : [],
        ),
      ),
    );
    return found.flat();
  }

  async #ensure(queue: string, job: RunJob, key: string): Promise<void> {
    if (!this.#made.has(queue)) {
      await this.#boss.createQueue(queue, {
        policy: "exclusive",
        heartbeatSeconds: LOST_SECONDS,
        expireInSeconds: HELD_SECONDS,
        retryLimit: MANY_TIMES,
        retryDelay: 0,
        // What is done is of no further use.
        deleteAfterSeconds: 60,
      });
      this.#made.add(queue);
    }
    await this.#boss.send(queue, job, { singletonKey: key });
  }

  /** Queues of this repository that want nothing but what is offered. */
  async within(kind: QueueKind, offered: Needs): Promise<string[]> {
    const has = new Set(tokensOf(offered));
    const wants = (name: string): string[] => name.split(".").slice(1);
    return (await this.#ownQueues(kind)).filter((name) => wants(name).every((token) => has.has(token)));
  }

  async #ownQueues(kind: QueueKind): Promise<string[]> {
    const own = this.#nameOf(kind, NOTHING);
    const all = await this.#boss.getQueues();
    return all.map(({ name }) => name).filter((name) => name === own || name.startsWith(`${own}.`));
  }

  /** The first job of any of them. */
  async take<T extends RunJob>(queues: readonly string[]): Promise<Taken<T> | undefined> {
    for (const queue of queues) {
      const [job] = (await this.#boss.fetch<T>(queue)) as Job<T>[];
      if (job !== undefined) return { queue, data: job.data, attempt: { id: job.id, retryCount: job.retryCount } };
    }
    return undefined;
  }

  /** What waits for somebody, by queue. */
  async waiting(): Promise<{ queue: string; jobs: number; held: number }[]> {
    const own = [...(await this.#ownQueues("runs")), ...(await this.#ownQueues("phases"))];
    return Promise.all(
      own.map(async (queue) => {
        const open = (await this.#boss.findJobs(queue)).filter(({ state }) => NOT_OVER.has(state));
        const held = open.filter(({ state }) => state === "active").length;
        return { queue, jobs: open.length - held, held };
      }),
    );
  }

  /** A sign of life; false where somebody else has it now. */
  async touch({ queue, attempt }: Taken<RunJob>): Promise<boolean> {
    const { affected } = (await this.#boss.touch(queue, attempt)) as { affected?: number };
    return affected === 1;
  }

  /** Nothing is left to do. */
  async finish({ queue, attempt }: Taken<RunJob>): Promise<void> {
    await this.#boss.complete(queue, attempt);
  }

  /** Somebody else is to go on with it, or this one later. */
  async giveBack({ queue, attempt }: Taken<RunJob>): Promise<void> {
    await this.#boss.fail(queue, attempt);
  }
}
