/** Numbers and times as people read them. */
export function thousands(n: number): string {
  if (n >= 1_000_000_000) return `${(n / 1_000_000_000).toFixed(1)}G`;
  if (n >= 100_000_000) return `${Math.round(n / 1_000_000)}M`;
  if (n >= 1_000_000) return `${(n / 1_000_000).toFixed(1)}M`;
  return n >= 10_000 ? `${Math.round(n / 1_000)}k` : String(n);
}

export const dollars = (n: number | undefined): string => (n === undefined ? "unknown" : `$${n.toFixed(2)}`);

/** Hours, minutes and seconds. */
export function clock(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const part = (n: number) => String(n).padStart(2, "0");
  return `${Math.floor(seconds / 3_600)}:${part(Math.floor(seconds / 60) % 60)}:${part(seconds % 60)}`;
}
