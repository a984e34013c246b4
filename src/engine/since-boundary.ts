/**
 * What a session did since its last boundary, as far as the next one is judged by it: whether a piece of work ended there,
 * whether another has begun, and whether the agent goes in circles. All of it counts for one boundary.
 */
import type { NaturalBoundary } from "../context/policy.js";
import type { Circle } from "../run/circles.js";
import type { ToolKind } from "../run/event.js";

/** Tools that change nothing. */
const LOOKS: ReadonlySet<ToolKind> = new Set(["read", "search", "web"]);

export class SinceBoundary {
  /** What made the boundary that comes next a natural one. */
  natural: NaturalBoundary | undefined;
  circle: Circle | undefined;
  taskDone = false;
  /** A task is reported, and nothing was done since. */
  #isBetween = false;
  /** A tool was answered so: all that follows in the same message is, too. */
  #refusesRest = false;

  /** `isBetween`: what the agent begins next can still be refused. */
  taskReported({ isBetween }: { isBetween: boolean }): void {
    this.natural = "task";
    this.taskDone = true;
    this.#isBetween ||= isBetween;
  }

  /** `gates`: the commands that check the phase. */
  shellSucceeded(command: string, gates: readonly string[]): void {
    if (gates.some((gate) => command.includes(gate))) this.natural = "gate";
    else if (/\bgit\b.*\bcommit\b/.test(command)) this.natural = "commit";
  }

  /**
   * Whether a tool is refused: a task was just reported, another is about to begin, and the session is handed over anyway.
   * What would only look around is refused: the next session has to look itself. What does something is let through.
   */
  refuses(kind: ToolKind, handsOver: () => boolean): boolean {
    if (!this.#isBetween) return false;
    if (this.#refusesRest) return true;
    const isLast = handsOver();
    this.#refusesRest = isLast && LOOKS.has(kind);
    if (this.#refusesRest) return true;
    this.#isBetween = false;
    // Another task has begun: the boundary that follows is in the middle of it.
    if (!isLast) this.natural = undefined;
    return false;
  }

  /** The boundary is here, and judged. */
  begin(): void {
    this.natural = undefined;
    this.circle = undefined;
    this.taskDone = false;
    this.#isBetween = false;
    this.#refusesRest = false;
  }
}
