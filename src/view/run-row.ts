/** A run in a list of runs. */
export interface RunRow {
  run: string;
  title: string;
  plan: string;
  status: string;
  /** Somebody holds it now. */
  live: boolean;
  phases: { done: number; total: number };
  cost_usd?: number | undefined;
  tokens: number;
  startedAt: string;
  last: { at: string; text: string };
}
