/** One turn of a session. A checkpoint must come in time: after that the ledger alone serves. */
import type { TurnEnd } from "../run/event.js";
import type { HeldRun, OpenSession } from "./held-run.js";

export async function sendTurn(
  { run }: HeldRun,
  live: OpenSession,
  prompt: string,
  asksCheckpoint: boolean,
): Promise<TurnEnd> {
  const sent = live.send(prompt, { onlySegnoTools: asksCheckpoint });
  if (!asksCheckpoint) return sent;
  const seconds = run.state.config.checkpoint_timeout_seconds;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<TurnEnd>((resolve) => {
    const message = `no checkpoint within ${seconds} s (checkpoint_timeout_seconds)`;
    timer = setTimeout(() => resolve({ type: "failed", kind: "other", message }), seconds * 1_000);
  });
  return Promise.race([sent, late]).finally(() => clearTimeout(timer));
}
