/** Where the page's data comes from: the server it was opened from, or the report it is part of. */
import { useEffect, useRef, useState } from "preact/hooks";
import { type Board, RunView } from "../../view/board.js";
import { unpack } from "../../view/pack.js";
import type { PhaseDetail } from "../../view/phase-page.js";
import type { RunRow } from "../../view/run-row.js";

export interface Listed {
  /** The run this server belongs to. */
  own: string | null;
  runs: RunRow[];
}

/** A report has everything in itself. */
export interface Embedded {
  board: Board;
  phases: Record<string, PhaseDetail>;
  blobs: Record<string, string>;
}

const embedded = document.getElementById("segno-report")?.textContent ?? undefined;
export const report: Embedded | undefined = embedded === undefined ? undefined : (JSON.parse(embedded) as Embedded);

export class Refused extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

async function getText(path: string): Promise<string> {
  const response = await fetch(path);
  if (!response.ok) throw new Refused(response.status, ((await response.json()) as { message: string }).message);
  return response.text();
}

const get = async <T>(path: string): Promise<T> => JSON.parse(await getText(path)) as T;

const runPath = (run: string): string => `api/runs/${encodeURIComponent(run)}`;

export const fetchRuns = (): Promise<Listed> =>
  report === undefined ? get<Listed>("api/runs") : Promise.resolve({ own: null, runs: [] });

export const fetchPhase = (run: string, phase: string): Promise<PhaseDetail> => {
  const known = report?.phases[phase];
  return known === undefined ? get(`${runPath(run)}/phases/${encodeURIComponent(phase)}`) : Promise.resolve(known);
};

export async function fetchBlob(run: string, ref: string): Promise<string> {
  if (report !== undefined) return report.blobs[ref] ?? "(not part of this report)";
  const response = await fetch(`${runPath(run)}/blobs/${ref.replace("sha256:", "")}`);
  return response.ok ? response.text() : "(it is gone)";
}

export async function steer(run: string, act: string, body: object): Promise<string> {
  try {
    const response = await fetch(`${runPath(run)}/steer/${act}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return ((await response.json()) as { message: string }).message;
  } catch (error) {
    return `That could not be said: ${(error as Error).message}`;
  }
}

const REDRAW_MS = 300;
export const AGAIN_MS = 3_000;

/** The same question may be answered later: nobody was there, or what it needs is away. */
const passes = (error: unknown): boolean => !(error instanceof Refused) || error.status >= 500;

export interface Live {
  board: Board | undefined;
  problem: string | undefined;
  /** Counts redraws: parts of the board are changed in place. */
  tick: number;
  connected: boolean;
}

/** The board, as it is and as it changes. */
export function useBoard(run: string): Live {
  const [live, setLive] = useState<Live>({ board: report?.board, problem: undefined, tick: 0, connected: false });
  const view = useRef(new RunView());
  useEffect(() => {
    if (report !== undefined) return undefined;
    let source: EventSource | undefined;
    let over = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let again: ReturnType<typeof setTimeout> | undefined;
    const draw = (connected: boolean) => {
      if (timer !== undefined) return;
      timer = setTimeout(() => {
        timer = undefined;
        if (!over)
          setLive((before) => ({ board: view.current.board, problem: undefined, tick: before.tick + 1, connected }));
      }, REDRAW_MS);
    };
    const begin = async () => {
      try {
        view.current = new RunView(unpack(await getText(`${runPath(run)}/folded`)));
      } catch (error) {
        if (over) return;
        const { message } = error as Error;
        setLive((before) => ({
          ...before,
          // What is known stays on the page.
          problem: passes(error) && before.board !== undefined ? undefined : message,
          connected: false,
        }));
        if (passes(error)) again = setTimeout(() => void begin(), AGAIN_MS);
        return;
      }
      if (over) return;
      setLive((before) => ({ board: view.current.board, problem: undefined, tick: before.tick + 1, connected: true }));
      source = new EventSource(`${runPath(run)}/stream?after=${view.current.seq}`);
      source.addEventListener("events", (message) => {
        for (const event of JSON.parse(message.data)) if (event.seq === view.current.seq + 1) view.current.take(event);
        draw(true);
        // Nothing more will come: the server goes with the run.
        if (!["running", "paused"].includes(view.current.board?.status ?? "")) source?.close();
      });
      source.addEventListener("stale", () => {
        source?.close();
        void begin();
      });
      source.addEventListener("error", () => {
        draw(false);
        // It was refused, and does not try again by itself.
        if (source?.readyState === EventSource.CLOSED) again = setTimeout(() => void begin(), AGAIN_MS);
      });
      source.addEventListener("open", () => draw(true));
    };
    void begin();
    return () => {
      over = true;
      source?.close();
      clearTimeout(timer);
      clearTimeout(again);
    };
  }, [run]);
  return live;
}

/** The time now, as long as the run goes on. */
export function useNow(running: boolean): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (!running) return undefined;
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [running]);
  return now;
}
