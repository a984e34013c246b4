/** Runs of a team: in PostgreSQL, for all machines that reach it. */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { type Learned, NOTHING_LEARNED } from "../../context/forecast.js";
import type { BlobRef, RunEvent } from "../../run/event.js";
import type { Redact } from "../../secrets/redact.js";
import { mergedLearned } from "../learned.js";
import type { Address, Holder, Joined, Journal, JournalRead, Lease, Locked, Store, Watching } from "../store.js";
import { type Database, isLineLost } from "./database.js";
import { LeaseLost, PgJournal } from "./journal.js";
import { eventsAfter, NewerVersion, readBlob } from "./reading.js";

const HOLD_SECONDS = 10;
const SIGN_OF_LIFE_MS = 2_000;
/** A worker that gives no sign of life for so long is lost. */
const LOST_SECONDS = 12;

/** What a worker says of itself. */
export interface Offer {
  version: string;
  host: string;
  /** Tells machines of one name apart. */
  instance: string;
  slots: number;
  /** Agents, and whose account each uses. */
  agents: Record<string, string>;
  labels: string[];
}

export interface SeenWorker extends Offer {
  worker: string;
  seen: string;
  lost: boolean;
}

export interface PgStoreOptions {
  /** Which repository's runs: those of others are not seen. */
  repo: string;
  /** Who writes here. */
  worker: string;
  now?: () => Date;
}

export class PgStore implements Store {
  readonly #database: Database;
  readonly #options: Required<PgStoreOptions>;
  /** A door is on loopback: an address means something on its own machine only. */
  readonly #addresses = new Map<string, Address>();
  /** What was let go and is not known to be yet. */
  #lettingGo: Promise<unknown> = Promise.resolve();

  constructor(database: Database, options: PgStoreOptions) {
    this.#database = database;
    this.#options = { now: () => new Date(), ...options };
  }

  async list(): Promise<string[]> {
    const rows = await this.#database.query<{ run: string }>(
      "SELECT run FROM segno.runs WHERE repo = $1 AND seq > 0 ORDER BY run DESC",
      [this.#options.repo],
    );
    return rows.map(({ run }) => run);
  }

  /**
   * What is not over, without those that are named: the last word on a run's beginning and end says. `quietSeconds`: and
   * about which nothing was said for so long.
   */
  async openRuns(except: readonly string[] = [], quietSeconds = 0): Promise<string[]> {
    const rows = await this.#database.query<{ run: string }>(
      `SELECT run FROM segno.runs r WHERE repo = $1 AND seq > 0 AND run <> ALL($2)
       AND ($3 = 0 OR last_at <= segno.clock() - make_interval(secs => $3)) AND coalesce((
         SELECT body ~ '"type":"run-resumed"' FROM segno.events e
         WHERE e.run = r.run AND body ~ '"type":"run-(completed|failed|stopped|resumed)"' ORDER BY seq DESC LIMIT 1
       ), true) ORDER BY run`,
      [this.#options.repo, except, quietSeconds],
    );
    return rows.map(({ run }) => run);
  }

  async read(run: string): Promise<JournalRead> {
    const gone = (why: string, line = 0): JournalRead => ({ ok: false, where: this.where(run), line, why, events: [] });
    try {
      const [found] = await this.#database.query("SELECT 1 FROM segno.runs WHERE run = $1", [run]);
      if (found === undefined) return gone("it is not there");
      return { ok: true, events: await eventsAfter(this.#database, run, 0), torn: 0 };
    } catch (error) {
      // It says nothing about the journal.
      if (isLineLost(error)) throw error;
      if (error instanceof NewerVersion) return gone(error.message, error.seq);
      return gone(`it cannot be read (${error instanceof Error ? error.message : String(error)})`);
    }
  }

  async watch(run: string, take: (events: RunEvent[]) => void): Promise<Watching> {
    let last = 0;
    let stopped = false;
    let looking: Promise<void> | undefined;
    let again = false;
    const read = async (): Promise<void> => {
      do {
        again = false;
        const events = await eventsAfter(this.#database, run, last);
        last = events.at(-1)?.seq ?? last;
        if (events.length > 0 && !stopped) take(events);
      } while (again && !stopped);
    };
    const look = (): void => {
      if (looking !== undefined) again = true;
      // A line that is lost, or whoever looks and fails: it is looked at again later.
      else
        looking = read()
          .catch(() => {})
          .finally(() => {
            looking = undefined;
          });
    };
    const unlisten = this.#database.listen(run, look);
    look();
    await looking;
    return {
      stop: () => {
        stopped = true;
        unlisten();
      },
    };
  }

  async version(run: string): Promise<string> {
    const [row] = await this.#database.query<{ seq: string }>("SELECT seq FROM segno.runs WHERE run = $1", [run]);
    return row?.seq ?? "0";
  }

  getBlob(run: string, ref: BlobRef): Promise<string | undefined> {
    return readBlob(this.#database, run, ref);
  }

  async lock(run: string): Promise<Locked> {
    const token = randomUUID();
    const own: Holder = {
      pid: process.pid,
      started: "",
      boot: "",
      host: hostname(),
      since: this.#options.now().toISOString(),
      run,
    };
    const hold = async (): Promise<string | null> => {
      const [row] = await this.#database.query<{ hold: string | null }>("SELECT segno.hold($1, $2, $3, $4)", [
        run,
        token,
        JSON.stringify(own),
        HOLD_SECONDS,
      ]);
      return row?.hold ?? null;
    };
    await this.#lettingGo;
    const other = await hold();
    if (other !== null) return { ok: false, what: "run", holder: JSON.parse(other) as Holder };
    // Losing it is no harm: from then on the lease refuses what is written.
    const alive = setInterval(() => void hold().catch(() => {}), SIGN_OF_LIFE_MS).unref();
    return {
      ok: true,
      lock: {
        release: () => {
          clearInterval(alive);
          const gone = this.#database.query("SELECT segno.let_go($1, $2)", [run, token]).catch(() => {});
          this.#lettingGo = Promise.all([this.#lettingGo, gone]);
        },
      },
    };
  }

  /** Whoever begins a run here, or takes one up: one at a time, so that each sees what the one before began. */
  beginning(): Promise<Locked> {
    return this.lock(`begins in ${this.#options.repo}`);
  }

  async holder(run: string): Promise<Holder | undefined> {
    await this.#lettingGo;
    const [row] = await this.#database.query<{ holder: string }>(
      "SELECT holder FROM segno.holders WHERE run = $1 AND until >= clock_timestamp()",
      [run],
    );
    return row === undefined ? this.#conductor(run) : (JSON.parse(row.holder) as Holder);
  }

  /** The worker that has its lease, as long as it gives signs of life. */
  async #conductor(run: string): Promise<Holder | undefined> {
    const [row] = await this.#database.query<{ worker: string; since: string }>(
      `SELECT w.worker, segno.stamp(w.since) AS since FROM segno.leases l JOIN segno.runs r USING (run)
       JOIN segno.workers w ON w.worker = l.worker AND w.repo = r.repo
       WHERE l.run = $1 AND l.scope = '' AND w.seen > clock_timestamp() - make_interval(secs => $2)`,
      [run, LOST_SECONDS],
    );
    return row === undefined ? undefined : { pid: 0, started: "", boot: "", host: row.worker, since: row.since, run };
  }

  /** Signs of life of this worker, with what it offers. */
  async sayAlive(offer: Offer): Promise<void> {
    const { worker, repo } = this.#options;
    await this.#database.query("SELECT segno.worker_seen($1, $2, $3)", [worker, repo, JSON.stringify(offer)]);
  }

  async sayGone(): Promise<void> {
    const { worker, repo } = this.#options;
    await this.#database.query("SELECT segno.worker_gone($1, $2)", [worker, repo]);
  }

  /** Who is there, or was until lately; `lost`: no sign of life for too long. */
  async workers(): Promise<SeenWorker[]> {
    const rows = await this.#database.query<{ worker: string; offer: string; seen: string; lost: boolean }>(
      `SELECT worker, offer, segno.stamp(seen) AS seen, seen < clock_timestamp() - make_interval(secs => $2) AS lost
       FROM segno.workers WHERE repo = $1 ORDER BY worker`,
      [this.#options.repo, LOST_SECONDS],
    );
    return rows.map(({ offer, ...row }) => ({ ...row, ...(JSON.parse(offer) as Offer) }));
  }

  async limitAccount(agent: string, account: string, until: string): Promise<void> {
    await this.#database.query("SELECT segno.limit_account($1, $2, $3)", [agent, account, until]);
  }

  /** Accounts that are at their limit now. */
  async limitedAccounts(): Promise<{ agent: string; account: string; until: string }[]> {
    return this.#database.query(
      "SELECT agent, account, segno.stamp(until) AS until FROM segno.accounts WHERE until > clock_timestamp()",
    );
  }

  /** Who holds what, in runs that are not over. */
  async leases(): Promise<{ run: string; scope: string; epoch: number; worker: string }[]> {
    return this.#database.query(
      `SELECT l.run, l.scope, l.epoch, l.worker FROM segno.leases l JOIN segno.runs r USING (run) WHERE r.repo = $1
       ORDER BY l.run DESC, l.scope`,
      [this.#options.repo],
    );
  }

  async waitsForAnyone(): Promise<boolean> {
    return true;
  }

  /** Runs of a team work in clones of their own, never in a user's checkout. */
  async checkoutHolder(): Promise<Holder | undefined> {
    return undefined;
  }

  async create(run: string, lease: Lease): Promise<Journal> {
    await this.#database.query("SELECT segno.create_run($1, $2)", [run, this.#options.repo]);
    return this.#journal(run, lease, 0);
  }

  open(run: string, lease: Lease, after: Extract<JournalRead, { ok: true }>): Promise<Journal> {
    return this.#journal(run, lease, after.events.at(-1)?.seq ?? 0);
  }

  async #journal(run: string, lease: Lease, known: number): Promise<Journal> {
    const { worker, now } = this.#options;
    const [taken] = await this.#database.query<{ take_lease: boolean }>("SELECT segno.take_lease($1, '', $2, $3)", [
      run,
      lease.epoch,
      worker,
    ]);
    if (taken?.take_lease !== true) throw new LeaseLost("a newer lease of the run was taken");
    return new PgJournal(this.#database, { run, lease, scope: "", leased: true, known, now });
  }

  /** Takes the lease of a phase, or with an empty scope the conductor's, whoever had it before, and reads what is there. */
  async join(run: string, scope: string, redact: Redact, holds?: () => boolean): Promise<Joined | undefined> {
    const { worker, now } = this.#options;
    const [row] = await this.#database.query<{ next_lease: number | null }>("SELECT segno.next_lease($1, $2, $3)", [
      run,
      scope,
      worker,
    ]);
    const epoch = row?.next_lease ?? undefined;
    if (epoch === undefined) return undefined;
    const events = await eventsAfter(this.#database, run, 0);
    const known = events.at(-1)?.seq ?? 0;
    const lease = { epoch, redact };
    const journal = new PgJournal(this.#database, { run, lease, scope, leased: true, holds, known, now });
    return { journal, events, epoch };
  }

  /** For who holds nothing: what is said is compared with what was known, and refused where something came since. */
  async steer(run: string, redact: Redact): Promise<Joined | undefined> {
    const read = await this.read(run);
    if (!read.ok) return undefined;
    const { now } = this.#options;
    const known = read.events.at(-1)?.seq ?? 0;
    const epoch = read.events.at(-1)?.epoch ?? 1;
    const lease = { epoch, redact };
    const journal = new PgJournal(this.#database, { run, lease, scope: "", leased: false, known, now });
    return { journal, events: read.events, epoch };
  }

  async remove(run: string): Promise<void> {
    await this.#database.query("SELECT segno.remove_run($1)", [run]);
  }

  async setAddress(run: string, address: Address | undefined): Promise<void> {
    if (address === undefined) this.#addresses.delete(run);
    else this.#addresses.set(run, address);
  }

  async address(run: string): Promise<Address | undefined> {
    return this.#addresses.get(run);
  }

  async learned(agent: string): Promise<Learned> {
    const body = await this.#learnedText(agent);
    return body === undefined ? NOTHING_LEARNED : (JSON.parse(body) as Learned);
  }

  async learn(agent: string, more: Learned): Promise<void> {
    for (let done = false; !done; ) {
      const text = await this.#learnedText(agent);
      const before = text === undefined ? NOTHING_LEARNED : (JSON.parse(text) as Learned);
      const [row] = await this.#database.query<{ learn: boolean }>("SELECT segno.learn($1, $2, $3, $4)", [
        this.#options.repo,
        agent,
        text ?? null,
        JSON.stringify(mergedLearned(before, more)),
      ]);
      // False: another machine learned something meanwhile.
      done = row?.learn === true;
    }
  }

  async #learnedText(agent: string): Promise<string | undefined> {
    const [row] = await this.#database.query<{ body: string }>(
      "SELECT body FROM segno.learned WHERE repo = $1 AND agent = $2",
      [this.#options.repo, agent],
    );
    return row?.body;
  }

  async leaveNote(run: string, name: string, text: string): Promise<void> {
    await this.#database.query("SELECT segno.leave_note($1, $2, $3)", [run, name, text]);
  }

  async note(run: string, name: string): Promise<{ text: string; at: string } | undefined> {
    const [row] = await this.#database.query<{ body: string; at: string }>(
      "SELECT body, segno.stamp(at) AS at FROM segno.notes WHERE run = $1 AND name = $2",
      [run, name],
    );
    return row === undefined ? undefined : { text: row.body, at: row.at };
  }

  where(run: string): string {
    return `${this.#database.where}, run ${run}`;
  }
}
