/**
 * Who works on what: a job per run for who conducts it, a job per phase for who performs it. To hold a job is to hold the
 * lease; whoever gives no sign of life loses it.
 *
 * Invariants
 * 1. A run has at most one conductor, a phase at most one worker: a job's key is there once (`exclusive`).
 * 2. Signs of life, and the word that it is done, are of the attempt that was fetched: an old holder says nothing for the new.
 */
import type { Job, PgBoss } from "pg-boss";
import { PROTOCOL } from "../store/postgres/schema.js";

export type QueueName = "runs" | "phases";

export interface RunJob {
  run: string;
  repo: string;
}

export interface PhaseJob extends RunJob {
  phase: string;
  /** What only some workers have: an agent, a label. */
  needs: string[];
}

/** pg-boss gives a job up after this long without a sign of life; it takes no less. */
const LOST_SECONDS = 10;
/** However long it is held. Leases change hands more often than that. */
const HELD_SECONDS = 24 * 60 * 60 - 1;
const MANY_TIMES = 1_000_000;

/** The protocol is in the name: another version has queues of its own. */
const nameOf = (queue: QueueName): string => `segno-${PROTOCOL}-${queue}`;

/** One holding of a job. */
type JobAttempt = Pick<Job, "id" | "retryCount">;

export interface Taken<T> {
  queue: QueueName;
  data: T;
  /** Said to mean this holding and no other. */
  attempt: JobAttempt;
}

export class Queues {
  readonly #boss: PgBoss;

  constructor(boss: PgBoss) {
    this.#boss = boss;
  }

  /** Once, by the owner. */
  async create(): Promise<void> {
    for (const queue of ["runs", "phases"] as const)
      await this.#boss.createQueue(nameOf(queue), {
        policy: "exclusive",
        heartbeatSeconds: LOST_SECONDS,
        expireInSeconds: HELD_SECONDS,
        retryLimit: MANY_TIMES,
        retryDelay: 0,
        // What is done is of no further use.
        deleteAfterSeconds: 60,
      });
  }

  /** There is a job for it, whoever may have asked for it before. */
  async ensureRun(job: RunJob): Promise<void> {
    await this.#boss.send(nameOf("runs"), job, { singletonKey: job.run });
  }

  async ensurePhase(job: PhaseJob): Promise<void> {
    await this.#boss.send(nameOf("phases"), job, { singletonKey: `${job.run}/${job.phase}` });
  }

  async take<T extends RunJob>(queue: QueueName): Promise<Taken<T> | undefined> {
    const [job] = (await this.#boss.fetch<T>(nameOf(queue))) as Job<T>[];
    if (job === undefined) return undefined;
    return { queue, data: job.data, attempt: { id: job.id, retryCount: job.retryCount } };
  }

  /** A sign of life; false where somebody else has it now. */
  async touch({ queue, attempt }: Taken<RunJob>): Promise<boolean> {
    const { affected } = (await this.#boss.touch(nameOf(queue), attempt)) as { affected?: number };
    return affected === 1;
  }

  /** Nothing is left to do. */
  async finish({ queue, attempt }: Taken<RunJob>): Promise<void> {
    await this.#boss.complete(nameOf(queue), attempt);
  }

  /** Somebody else is to go on with it, or this one later. */
  async giveBack({ queue, attempt }: Taken<RunJob>): Promise<void> {
    await this.#boss.fail(nameOf(queue), attempt);
  }
}
