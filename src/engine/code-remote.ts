/**
 * How the code of a run reaches other machines.
 *
 * Invariant: what the journal says of a commit or a finished task, whoever reads it there can get.
 */
export interface CodeRemote {
  /** What others sent is known here from now on. */
  fetch(): Promise<void>;
  /** The phase's commits, its place in the train and what is kept of its open work are elsewhere, too, when it resolves. */
  send(phase: string): Promise<void>;
}
