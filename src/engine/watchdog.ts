/**
 * Notices that an agent hangs: no sign of life while none of its tools runs, or a tool that never ends. And that it only
 * waits for its model, trying again or in silence, where nobody wants its work any more.
 */
import type { TurnEnd } from "../run/event.js";

const LOOK_MS = 1_000;
/** How long an agent may be silent once it is called off: a model that answers is heard more often. */
const CALLED_OFF_MS = 15_000;

export interface Patience {
  idle_timeout_minutes: number;
  tool_timeout_minutes: number;
}

export class Watchdog {
  readonly #patience: Patience;
  readonly #isCalledOff: () => boolean;
  /** By the monotonic clock, which stands still while the machine sleeps. */
  #lastSign = performance.now();
  #retries = false;
  /** A checkpoint turn has a limit of its own. */
  #mayBeSilent = false;
  readonly #tools = new Map<string, number>();

  constructor(patience: Patience, isCalledOff: () => boolean = () => false) {
    this.#patience = patience;
    this.#isCalledOff = isCalledOff;
  }

  alive(): void {
    this.#lastSign = performance.now();
    this.#retries = false;
  }

  /** It tries again by itself, and until its next sign of life does nothing else. */
  retries(): void {
    this.#retries = true;
  }

  toolStarted(id: string): void {
    this.#tools.set(id, performance.now());
  }

  toolFinished(id: string): void {
    this.#tools.delete(id);
  }

  /** The turn's end, or that it hung, or was called off. */
  over(turn: Promise<TurnEnd>, asksCheckpoint = false): Promise<TurnEnd> {
    this.alive();
    this.#mayBeSilent = asksCheckpoint;
    this.#tools.clear();
    const { idle_timeout_minutes: idle, tool_timeout_minutes: tool } = this.#patience;
    let timer: NodeJS.Timeout | undefined;
    const ended = new Promise<TurnEnd>((resolve) => {
      const every = Math.min(LOOK_MS, Math.min(idle, tool) * 15_000);
      timer = setInterval(() => {
        const end = this.#ended();
        if (end !== undefined) resolve(end);
      }, every);
    });
    return Promise.race([turn, ended]).finally(() => clearInterval(timer));
  }

  #ended(): TurnEnd | undefined {
    const { idle_timeout_minutes: idle, tool_timeout_minutes: tool } = this.#patience;
    const now = performance.now();
    if (now - Math.min(...this.#tools.values()) > tool * 60_000)
      return {
        type: "timed-out",
        what: "tool",
        message: `a tool ran longer than ${tool} minutes (tool_timeout_minutes)`,
      };
    if (this.#tools.size > 0) return undefined;
    const silent = now - this.#lastSign;
    if (silent > idle * 60_000)
      return {
        type: "timed-out",
        what: "idle",
        message: `no sign of life for ${idle} minutes (idle_timeout_minutes)`,
      };
    const onlyWaits = this.#retries || (silent > CALLED_OFF_MS && !this.#mayBeSilent);
    if (onlyWaits && this.#isCalledOff())
      return { type: "called-off", message: "it only waited for its model, which did not answer" };
    return undefined;
  }
}
