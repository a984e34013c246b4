/** How a phase attempt ends, in the agent's words and in ours. */
export const STATUSES = ["completed", "failed", "needs_human_verification", "split_request"] as const;
export type OutcomeStatus = (typeof STATUSES)[number];

export const RECOMMENDATIONS = ["halt", "retry", "split", "ask"] as const;
export type Recommendation = (typeof RECOMMENDATIONS)[number];

export const FAILURE_CATEGORIES = [
  "gate_failed",
  "context_exhaustion",
  "agent_error",
  "tools_refused",
  "usage_limit",
  "budget",
  "stuck",
  "timeout",
  "merge_conflict",
  "human_needed",
  "crashed",
] as const;
export type FailureCategory = (typeof FAILURE_CATEGORIES)[number];

/** What the agent hands in with `phase_result`: a claim, until gates and git agree. */
export interface PhaseResult {
  status: OutcomeStatus;
  summary: string;
  tasks_completed: string[];
  tasks_remaining: string[];
  files_modified: string[];
  decisions: string[];
  failure_category?: FailureCategory | undefined;
  recommendation?: Recommendation | undefined;
  /** Why what judges the phase was changed, where that was asked. */
  explanation?: string | undefined;
  split_details?:
    | {
        reason: string;
        /** `depends_on`: titles of parts that come first; without it a part begins at once. */
        recommended_sub_phases: { title: string; tasks: string[]; depends_on?: string[] | undefined }[];
      }
    | undefined;
}

export interface PhaseFailure {
  category: FailureCategory;
  message: string;
  recommendation: Recommendation;
}

/** Where everything about a failed phase stands together, for people. */
export const debugReportPath = (phase: string): string => `.segno/debug/phase-${phase.replaceAll(/[^\w.-]/g, "-")}.md`;
