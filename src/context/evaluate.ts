/** The meter against the truth, call by call, beside the ways others count. */
export interface Predicted {
  /** What the next call's prompt was expected to be, by the meter and by each other way; undefined where unknown. */
  expected: Record<string, number | undefined>;
  /** What it was. */
  truth: number;
}

export interface ErrorFigures {
  median: number;
  p90: number;
  p99: number;
  bias: number;
}

export interface ThresholdFigures {
  exact: number;
  early: number;
  late: number;
  never: number;
}

export interface MethodFigures {
  predictions: number;
  error: ErrorFigures;
  thresholds: Record<string, ThresholdFigures>;
}

export const THRESHOLDS = [40, 60, 80] as const;

/** `calls`: one session's calls in order, the first included; `window`: what the thresholds are percentages of. */
export interface EvaluatedSession {
  window: number;
  calls: readonly Predicted[];
}

export function evaluate(sessions: readonly EvaluatedSession[], method: string): MethodFigures {
  const errors: number[] = [];
  let signed = 0;
  const thresholds: Record<string, ThresholdFigures> = {};
  for (const percent of THRESHOLDS) thresholds[percent] = { exact: 0, early: 0, late: 0, never: 0 };
  for (const session of sessions) {
    for (const { expected, truth } of session.calls.slice(1)) {
      const guess = expected[method];
      if (guess === undefined || truth <= 0) continue;
      const error = ((guess - truth) / truth) * 100;
      errors.push(Math.abs(error));
      signed += error;
    }
    for (const percent of THRESHOLDS) countCrossing(session, method, percent, thresholds[percent] as ThresholdFigures);
  }
  errors.sort((a, b) => a - b);
  const quantile = (share: number): number =>
    round(errors[Math.min(errors.length - 1, Math.floor(errors.length * share))] ?? 0);
  const bias = round(errors.length === 0 ? 0 : signed / errors.length);
  return {
    predictions: errors.length,
    error: { median: quantile(0.5), p90: quantile(0.9), p99: quantile(0.99), bias },
    thresholds,
  };
}

/** Whether the method says "now" before the same call that really crosses the threshold. */
function countCrossing(
  { window, calls }: EvaluatedSession,
  method: string,
  percent: number,
  figures: ThresholdFigures,
): void {
  const limit = (window * percent) / 100;
  const crossed = calls.findIndex((call, index) => index > 0 && call.truth >= limit);
  const fired = calls.findIndex((call, index) => index > 0 && (call.expected[method] ?? 0) >= limit);
  // A session that begins above the threshold says nothing about seeing it come.
  if ((calls[0]?.truth ?? 0) >= limit || (crossed < 0 && fired < 0)) return;
  if (fired < 0) figures.never++;
  else if (crossed < 0 || fired < crossed) figures.early++;
  else if (fired === crossed) figures.exact++;
  else figures.late++;
}

const round = (value: number): number => Math.round(value * 1_000) / 1_000;
