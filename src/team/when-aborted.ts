/**
 * Acts when a signal is aborted, at once where it is already; what is given back takes that back. (Listeners with a signal of
 * their own to end with may outlive it: Node 20 forgets to remove them once memory was cleaned up in between.)
 */
export function whenAborted(signal: AbortSignal, act: () => void): () => void {
  if (signal.aborted) act();
  else signal.addEventListener("abort", act, { once: true });
  return () => signal.removeEventListener("abort", act);
}
