/** The runs of a repository as the page sees them: folded when somebody looks, and followed while they do. */
import { statSync } from "node:fs";
import { RUN_LOCK } from "../engine/claim.js";
import { type DoorFile, readDoor } from "../engine/door.js";
import { listRuns, runFolder } from "../engine/runs.js";
import { Git } from "../git/git.js";
import type { BlobRef, RunEvent } from "../run/event.js";
import { journalPath, readBlob, readJournal } from "../store/file.js";
import { JournalReader } from "../store/follow.js";
import { holderOf } from "../store/lock.js";
import { type Board, foldBoard } from "../view/board.js";
import { type PhaseDetail, phaseDetail } from "../view/phase-page.js";

export interface RunRow {
  run: string;
  title: string;
  plan: string;
  status: string;
  /** Somebody holds it now. */
  live: boolean;
  phases: { done: number; total: number };
  cost_usd: number | undefined;
  tokens: number;
  startedAt: string;
  last: { at: string; text: string };
}

/** Events that are kept for pages that were away for a moment. */
const KEPT = 2_000;
const IDLE_MS = 60_000;

class Watched {
  readonly #reader: JournalReader;
  board: Board | undefined;
  readonly recent: RunEvent[] = [];
  readonly listeners = new Set<(events: readonly RunEvent[]) => void>();
  #timer: NodeJS.Timeout | undefined;
  #lookedAt = Date.now();

  constructor(folder: string) {
    this.#reader = new JournalReader(folder);
  }

  look(): Board | undefined {
    this.#lookedAt = Date.now();
    const events = this.#reader.read();
    for (const event of events) this.board = foldBoard(this.board, event);
    if (events.length > 0) {
      this.recent.push(...events.slice(-KEPT));
      this.recent.splice(0, this.recent.length - KEPT);
      for (const listener of this.listeners) listener(events);
    }
    return this.board;
  }

  listen(listener: (events: readonly RunEvent[]) => void): () => void {
    this.listeners.add(listener);
    this.#timer ??= setInterval(() => this.look(), 250).unref();
    return () => {
      this.listeners.delete(listener);
      if (this.listeners.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
      this.#lookedAt = Date.now();
    };
  }

  isIdle(): boolean {
    return this.listeners.size === 0 && Date.now() - this.#lookedAt > IDLE_MS;
  }
}

export class Runs {
  readonly #top: string;
  readonly #watched = new Map<string, Watched>();
  readonly #rows = new Map<string, { stamp: string; row: RunRow }>();

  constructor(top: string) {
    this.#top = top;
  }

  has(run: string): boolean {
    return listRuns(this.#top).includes(run);
  }

  /** Newest first. A run whose journal did not change is not read again. */
  list(): RunRow[] {
    return listRuns(this.#top).flatMap((run) => {
      const { size, mtimeMs } = statSync(journalPath(runFolder(this.#top, run)));
      const stamp = `${size}:${mtimeMs}`;
      const live = this.door(run) !== undefined;
      const known = this.#rows.get(run);
      if (known?.stamp === stamp) return [{ ...known.row, live }];
      const row = this.#rowOf(run, live);
      if (row === undefined) return [];
      this.#rows.set(run, { stamp, row });
      return [row];
    });
  }

  #rowOf(run: string, live: boolean): RunRow | undefined {
    const watched = this.#watched.get(run) ?? new Watched(runFolder(this.#top, run));
    const board = watched.look();
    if (board === undefined) return undefined;
    const phases = board.phases.filter(({ part_of }) => part_of === undefined);
    const last = board.activities.at(-1);
    return {
      run,
      title: board.title,
      plan: board.plan,
      status: board.status,
      live,
      phases: { done: phases.filter(({ status }) => status === "done").length, total: phases.length },
      cost_usd: board.spent.cost_usd,
      tokens: board.spent.total,
      startedAt: board.startedAt,
      last: { at: board.now, text: last?.text ?? "" },
    };
  }

  watched(run: string): Watched {
    for (const [id, other] of this.#watched) if (other.isIdle()) this.#watched.delete(id);
    let watched = this.#watched.get(run);
    if (watched === undefined) {
      watched = new Watched(runFolder(this.#top, run));
      this.#watched.set(run, watched);
    }
    return watched;
  }

  /** Where a run that is in progress can be steered. */
  door(run: string): DoorFile | undefined {
    const folder = runFolder(this.#top, run);
    return holderOf(folder, RUN_LOCK) === undefined ? undefined : readDoor(folder);
  }

  async phase(run: string, id: string): Promise<PhaseDetail> {
    const { events } = readJournal(runFolder(this.#top, run));
    const detail = phaseDetail(events, id);
    const git = new Git(this.#top);
    for (const commit of detail.commits) {
      const shown = await git.attempt(["show", "--stat=100", "--format=%s", "--first-parent", commit.sha]);
      if (shown.ok) commit.stat = shown.stdout.slice(0, 20_000);
    }
    return detail;
  }

  blob(run: string, ref: BlobRef): string | undefined {
    return readBlob(runFolder(this.#top, run), ref);
  }
}
