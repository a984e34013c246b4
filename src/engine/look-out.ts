/**
 * What an agent does beside its work, looked at between its calls: to git, to the disk, to the machine. What it is to
 * hear of it is kept until it can be told.
 */
import type { ToolKind } from "../run/event.js";
import { isAttempted } from "../run/phase.js";
import { checkoutOf } from "./checkout.js";
import { isFileSystemError } from "./file-system.js";
import { HarmWatch } from "./harm.js";
import type { HeldRun } from "./held-run.js";
import { markerOf } from "./marker.js";
import { disarm, type Looked, lookAround, newLook } from "./put-right.js";
import { keepWork } from "./safekeeping.js";

export class LookOut {
  readonly #held: HeldRun;
  readonly #phase: string;
  readonly #looked: Looked;
  readonly #harm: HarmWatch;
  /** Commands that it ran since the last boundary, as far as they are known. */
  #commands: string[] = [];
  #ranShell = false;
  #keepsWork = true;
  /** What the agent is to hear. */
  #untold: string[] = [];

  constructor(held: HeldRun, { phase, session }: { phase: string; session: string }) {
    this.#held = held;
    this.#phase = phase;
    this.#looked = newLook(held, phase);
    const { state } = held.run;
    const now = state.phases.get(phase);
    const began = isAttempted(now) ? Date.parse(now.attempt.startedAt) : Date.now();
    const limits = { maxNewBytes: state.config.max_new_bytes };
    this.#harm = new HarmWatch(checkoutOf(held, phase).top, markerOf(state.run, session), limits, began);
  }

  toolFinished(kind: ToolKind, brief: string): void {
    if (kind !== "shell") return;
    this.#commands.push(brief);
    this.#ranShell = true;
  }

  /** Between two calls; `taskDone`: a task was just reported, and its work is worth keeping. */
  async look({ taskDone }: { taskDone: boolean }): Promise<void> {
    await this.#limitHarm();
    try {
      const commands = this.#commands.splice(0);
      if (commands.length > 0) await disarm(this.#held, this.#phase);
      if (taskDone && this.#keepsWork) await this.#keepWork();
      this.#untold.push(...(await lookAround(this.#held, this.#phase, this.#looked, commands)));
    } catch (error) {
      if (!isFileSystemError(error)) throw error;
      // Whatever the file system does to this look, the boundary is decided.
      this.#keepsWork = false;
    }
  }

  /** What it is to hear, once. */
  takeUntold(): string | undefined {
    return this.#untold.length === 0 ? undefined : this.#untold.splice(0).join("\n\n");
  }

  async #keepWork(): Promise<void> {
    const now = this.#held.run.state.phases.get(this.#phase);
    const done = isAttempted(now) ? now.attempt.progress.tasksDone : [];
    this.#keepsWork = await keepWork(this.#held, this.#phase, checkoutOf(this.#held, this.#phase).git, done);
  }

  /** While there is room for a checkpoint. */
  async #limitHarm(): Promise<void> {
    const { run } = this.#held;
    const full = run.state.stopping === undefined ? this.#harm.disk() : undefined;
    if (full !== undefined && this.#held.leaves !== undefined) this.#held.leaves(full);
    else if (full !== undefined) await run.record({ type: "stop-requested", by: full, cause: "disk" });
    const crowd = this.#ranShell ? await this.#harm.processes() : undefined;
    this.#ranShell = false;
    if (crowd !== undefined) run.warn(crowd, this.#phase);
  }
}
