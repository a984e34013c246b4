import type { Command } from "../run/command.js";
import type { HeldRun } from "./held-run.js";

export type CommandType = Command["type"];

/** Does what the command says and appends what came of it; the fact that names the command takes it out of flight. */
export type Performer<T extends CommandType> = (held: HeldRun, command: Extract<Command, { type: T }>) => Promise<void>;
