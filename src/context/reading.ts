/** How full the window is now, and how sure that is. */
export interface Reading {
  /** Tokens the next call's prompt will have. */
  tokens: number;
  window: number;
  /** `tokens` of `window`, in percent. */
  percent: number;
  /**
   * exact      nothing was appended since the last call reported
   * anchored   the last call's report plus an estimated tail
   * estimated  the agent reports nothing
   * unknown    just after a compaction, until the next call reports
   */
  source: "exact" | "anchored" | "estimated" | "unknown";
  /** Tokens by which the true number may differ. */
  margin: number;
}

export const percentOf = (tokens: number, window: number): number => Math.round((tokens / window) * 1000) / 10;
