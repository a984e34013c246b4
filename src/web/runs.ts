/** The runs of a repository as the page sees them: folded when somebody looks, and followed while they do. */
import { askRun, type SteerName } from "../engine/steering.js";
import type { Git } from "../git/git.js";
import type { BlobRef, RunEvent } from "../run/event.js";
import type { Store, Watching } from "../store/store.js";
import { type Board, RunView } from "../view/board.js";
import { type PhaseDetail, phaseDetail } from "../view/phase-page.js";
import type { RunRow } from "../view/run-row.js";

/** Events that are kept for pages that were away for a moment. */
const KEPT = 2_000;
const IDLE_MS = 60_000;

export class Watched {
  readonly view = new RunView();
  readonly recent: RunEvent[] = [];
  readonly #listeners = new Set<(events: readonly RunEvent[]) => void>();
  #watching: Watching | undefined;
  #lookedAt = Date.now();

  static async open(store: Store, run: string): Promise<Watched> {
    const watched = new Watched();
    watched.#watching = await store.watch(run, (events) => watched.#take(events));
    return watched;
  }

  #take(events: readonly RunEvent[]): void {
    for (const event of events) this.view.take(event);
    this.recent.push(...events.slice(-KEPT));
    this.recent.splice(0, this.recent.length - KEPT);
    for (const listener of this.#listeners) listener(events);
  }

  listen(listener: (events: readonly RunEvent[]) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
      this.#lookedAt = Date.now();
    };
  }

  looked(): void {
    this.#lookedAt = Date.now();
  }

  isIdle(): boolean {
    return this.#listeners.size === 0 && Date.now() - this.#lookedAt > IDLE_MS;
  }

  stop(): void {
    this.#watching?.stop();
  }
}

export class Runs {
  readonly #store: Store;
  readonly #git: Git;
  readonly #watched = new Map<string, Promise<Watched>>();
  readonly #rows = new Map<string, { version: string; row: RunRow }>();

  constructor(store: Store, git: Git) {
    this.#store = store;
    this.#git = git;
  }

  async has(run: string): Promise<boolean> {
    return (await this.#store.list()).includes(run);
  }

  /** Newest first. A run whose journal did not change is not read again. */
  async list(): Promise<RunRow[]> {
    const rows: RunRow[] = [];
    for (const run of await this.#store.list()) {
      const version = await this.#store.version(run);
      const isHeld = (await this.#store.holder(run)) !== undefined;
      const known = this.#rows.get(run);
      const row = known?.version === version ? known.row : await this.#rowOf(run);
      if (row === undefined) continue;
      const goesOn = row.status === "running" || row.status === "paused";
      const live = isHeld || (goesOn && (await this.#store.waitsForAnyone(run)));
      this.#rows.set(run, { version, row });
      rows.push({ ...row, live });
    }
    return rows;
  }

  async #rowOf(run: string): Promise<RunRow | undefined> {
    // From its journal: what is followed may be a moment behind the version it would be kept under.
    const board = await this.#read(run);
    if (board === undefined) return undefined;
    const phases = board.phases.filter(({ part_of }) => part_of === undefined);
    return {
      run,
      title: board.title,
      plan: board.plan,
      status: board.status,
      live: false,
      phases: { done: phases.filter(({ status }) => status === "done").length, total: phases.length },
      cost_usd: board.spent.cost_usd,
      tokens: board.spent.total,
      startedAt: board.startedAt,
      last: { at: board.now, text: board.activities.at(-1)?.text ?? "" },
    };
  }

  /** As it is now; what is followed anyway is not read. */
  async board(run: string): Promise<Board | undefined> {
    const followed = await this.#watched.get(run);
    return followed === undefined ? this.#read(run) : followed.view.board;
  }

  async #read(run: string): Promise<Board | undefined> {
    const view = new RunView();
    for (const event of (await this.#store.read(run)).events) view.take(event);
    return view.board;
  }

  /** Followed from here on, until nobody has looked for a while. */
  async watched(run: string): Promise<Watched> {
    for (const [id, other] of this.#watched)
      if ((await other.catch(() => undefined))?.isIdle() === true) await this.#forget(id);
    let watched = this.#watched.get(run);
    if (watched === undefined) {
      watched = Watched.open(this.#store, run);
      this.#watched.set(run, watched);
      // One that cannot be followed is no trouble for the others.
      watched.catch(() => this.#watched.delete(run));
    }
    (await watched).looked();
    return watched;
  }

  async #forget(run: string): Promise<void> {
    const watched = this.#watched.get(run);
    this.#watched.delete(run);
    (await watched?.catch(() => undefined))?.stop();
  }

  async close(): Promise<void> {
    for (const run of [...this.#watched.keys()]) await this.#forget(run);
  }

  /** Whoever conducts it does it. */
  ask(run: string, act: SteerName, body: Record<string, unknown>): Promise<{ ok: boolean; message: string }> {
    return askRun(this.#store, run, act, body);
  }

  async phase(run: string, id: string): Promise<PhaseDetail> {
    const { events } = await this.#store.read(run);
    const detail = phaseDetail(events, id);
    for (const commit of detail.commits) {
      const shown = await this.#git.attempt(["show", "--stat=100", "--format=%s", "--first-parent", commit.sha]);
      if (shown.ok) commit.stat = shown.stdout.slice(0, 20_000);
    }
    return detail;
  }

  blob(run: string, ref: BlobRef): Promise<string | undefined> {
    return this.#store.getBlob(run, ref);
  }
}
