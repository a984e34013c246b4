/**
 * How the code of a run reaches other machines.
 *
 * Invariant: what the journal says of a commit or a finished task, whoever reads it there can get; where open work could
 * not be sent, whoever goes on finds that its tasks are to be done again.
 */
export interface CodeRemote {
  /** What others sent is known here from now on. */
  fetch(): Promise<void>;
  /** The phase's commits and its place in the train are elsewhere, too, when it resolves: all of them were looked at. */
  sendCommits(phase: string): Promise<void>;
  /** What is kept of its open work, likewise. */
  sendOpenWork(phase: string): Promise<void>;
}

/** It is there, and says no: trying again changes nothing. */
export class RemoteRefuses extends Error {
  override readonly name = "RemoteRefuses";
}
