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

  async ensurePhase(job: PhaseJob, needs: Needs): Promise<void> {
    const queue = this.#nameOf("phases", needs);
    for (const other of await this.#elsewhere(queue, keyOf(job))) {
      // Whoever holds it is alive, or will be given up.
      if (other.state === "active") return;
      await this.#boss.deleteJob(other.queue, other.id);
    }
    await this.#ensure(queue, job, keyOf(job));
  }

  /** It is not offered any more; false: somebody holds it. */
  async withdrawPhase(job: PhaseJob): Promise<boolean> {
    const all = await this.#elsewhere("", keyOf(job));
    if (all.some(({ state }) => state === "active")) return false;
    for (const { queue, id } of all) await this.#boss.deleteJob(queue, id);
    return true;
  }

  /** Whether somebody took the same phase from another queue. */
  async isHeldElsewhere({ queue, data }: Taken<PhaseJob>): Promise<boolean> {
    return (await this.#elsewhere(queue, keyOf(data))).some(({ state }) => state === "active");
  }

  /** Jobs for the same that are not over, in other queues. */
  async #elsewhere(queue: string, key: string): Promise<{ queue: string; id: string; state: string }[]> {
    const others = (await this.#ownQueues("phases")).filter((name) => name !== queue);
    const found = await Promise.all(
      others.map(async (name) =>
        (await this.#boss.findJobs(name, { key })).map(({ id, state }) => ({ queue: name, id, state })),
      ),
    );
    return found.flat().filter(({ state }) => NOT_OVER.has(state));
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
