/** Notices that an agent hangs: no sign of life while none of its tools runs, or a tool that never ends. */
import type { TurnEnd } from "../run/event.js";

const LOOK_MS = 1_000;

export interface Patience {
  idle_timeout_minutes: number;
  tool_timeout_minutes: number;
}

export class Watchdog {
  readonly #patience: Patience;
  /** By the monotonic clock, which stands still while the machine sleeps. */
  #lastSign = performance.now();
  readonly #tools = new Map<string, number>();

  constructor(patience: Patience) {
    this.#patience = patience;
  }

  alive(): void {
    this.#lastSign = performance.now();
  }

  toolStarted(id: string): void {
    this.#tools.set(id, performance.now());
  }

  toolFinished(id: string): void {
    this.#tools.delete(id);
  }

  /** The turn's end, or that it hung. */
  over(turn: Promise<TurnEnd>): Promise<TurnEnd> {
    this.alive();
    this.#tools.clear();
    const { idle_timeout_minutes: idle, tool_timeout_minutes: tool } = this.#patience;
    let timer: NodeJS.Timeout | undefined;
    const hung = new Promise<TurnEnd>((resolve) => {
      const every = Math.min(LOOK_MS, Math.min(idle, tool) * 15_000);
      timer = setInterval(() => {
        const now = performance.now();
        const oldest = Math.min(...this.#tools.values());
        if (now - oldest > tool * 60_000)
          resolve({
            type: "timed-out",
            what: "tool",
            message: `a tool ran longer than ${tool} minutes (tool_timeout_minutes)`,
          });
        else if (this.#tools.size === 0 && now - this.#lastSign > idle * 60_000)
          resolve({
            type: "timed-out",
            what: "idle",
            message: `no sign of life for ${idle} minutes (idle_timeout_minutes)`,
          });
      }, every);
    });
    return Promise.race([turn, hung]).finally(() => clearInterval(timer));
  }
}
