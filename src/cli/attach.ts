/** The live screen of a run, in this terminal: what happened is read from its journal, keys go through its door. */

import { askRun, type SteerName } from "../engine/steering.js";
import type { Store } from "../store/store.js";
import type { Act, Actions } from "../tui/screen.js";
import type { showScreen } from "../tui/show.js";
import { type Board, RunView } from "../view/board.js";
import { openInBrowser } from "./browser.js";
import { openEditor } from "./questions.js";

export type Left = "detached" | "over" | "killed";

export interface AttachOptions {
  /** The run goes on without this terminal. */
  canDetach: boolean;
  /** Leave by itself when the run is over. */
  untilOver: boolean;
  /** A signal to this terminal stops the run, too. */
  ownsRun: boolean;
  /** Whoever conducts it is gone, whatever its journal says. */
  gone?: AbortSignal | undefined;
}

const OVER_FOR_MS = 600;
const HOLDER_MS = 1_000;

export async function attach(
  { store, run, top }: { store: Store; run: string; top: string },
  { canDetach, untilOver, ownsRun, gone }: AttachOptions,
): Promise<{ left: Left; board: Board | undefined }> {
  const view = new RunView();
  let said = "";
  const listeners = new Set<() => void>();
  const tell = () => {
    for (const listener of listeners) listener();
  };
  let end: (left: Left) => void = () => {};
  const ended = new Promise<Left>((settle) => {
    end = settle;
  });
  gone?.addEventListener("abort", () => setTimeout(() => end("over"), OVER_FOR_MS));
  const asked = async (act: SteerName, body: Record<string, unknown>): Promise<void> => {
    // A line that is lost is no end of the screen: what was asked may be asked again.
    const away = ({ message }: Error) => ({ message: `That could not be said: ${message}` });
    said = (await askRun(store, run, act, body).catch(away)).message;
    tell();
  };
  const actions: Actions = {
    steer: (act: Act) => void asked(act, {}),
    skip: (phase) => void asked("skip", { phase }),
    answer: (question, answer) => void revised(question, answer).then(() => asked("answer", { question, answer })),
    openPage: async () => {
      const door = await store.address(run);
      if (door === undefined) said = "It has no page on this machine now: segno dashboard shows it.";
      else {
        const link = `${door.url}/?token=${door.token}`;
        void openInBrowser(link);
        said = link;
      }
      tell();
    },
    detach: () => end("detached"),
    kill: async () => {
      const pid = (await store.address(run))?.pid;
      if (ownsRun && pid !== undefined) for (let twice = 0; twice < 2; twice++) process.kill(pid, "SIGINT");
      if (pid !== process.pid) end("killed");
    },
  };
  /** Whoever conducted it was killed: its journal does not say so. */
  let abandoned = false;
  const looking = setInterval(async () => {
    const running = view.folded?.state.status === "running";
    const now = running ? await isLeft(store, run).catch(() => abandoned) : false;
    if (now === abandoned) return;
    abandoned = now;
    tell();
  }, HOLDER_MS);
  const following = await store.watch(run, (events) => {
    for (const event of events) view.take(event);
    tell();
    const { folded } = view;
    const over = folded !== undefined && folded.state.status !== "running";
    // The last frame is worth a look.
    if (over && untilOver) setTimeout(() => end("over"), OVER_FOR_MS);
  });
  /** Who wants to revise a phase gets its text in their editor first; the screen waits. */
  const revised = async (question: string, answer: string): Promise<void> => {
    const { board } = view;
    const phase = board?.questions.find(({ id }) => id === question)?.phase;
    const file = board?.phases.find(({ id }) => id === phase)?.file;
    if (answer !== "revise" || file === undefined) return;
    shown.leave();
    await openEditor(file, top);
    shown = await show();
  };
  const show = async () =>
    (await screen())({
      subscribe: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      board: () => view.board,
      said: () => said,
      interrupted: () => abandoned,
      actions,
      canDetach,
      now: () => Date.now(),
    });
  let shown = await show();
  const stop = () => {
    if (ownsRun) void asked("stop", {}).finally(() => (canDetach ? end("detached") : undefined));
    else end("detached");
  };
  const crashed = (error: unknown) => {
    shown.leave();
    console.error(error);
    process.exit(1);
  };
  if (canDetach) for (const signal of ["SIGTERM", "SIGHUP"] as const) process.on(signal, stop);
  process.on("uncaughtException", crashed);
  try {
    const left = await ended;
    return { left, board: view.board };
  } finally {
    clearInterval(looking);
    following.stop();
    shown.leave();
    for (const signal of ["SIGTERM", "SIGHUP"] as const) process.off(signal, stop);
    process.off("uncaughtException", crashed);
  }
}

/** Nobody holds it, and nobody will by himself. */
const isLeft = async (store: Store, run: string): Promise<boolean> =>
  (await store.holder(run)) === undefined && !(await store.waitsForAnyone(run));

/** Loaded when it is shown; the library that colours reads its own variable at that moment, and no other. */
async function screen(): Promise<typeof showScreen> {
  const before = process.env.FORCE_COLOR;
  if (process.env.NO_COLOR !== undefined && process.env.NO_COLOR !== "") process.env.FORCE_COLOR = "0";
  const { showScreen: show } = await import("../tui/show.js");
  if (before === undefined) delete process.env.FORCE_COLOR;
  else process.env.FORCE_COLOR = before;
  return show;
}
