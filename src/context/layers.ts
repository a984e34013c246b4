/**
 * What goes into a prompt, in four layers: permanent (the plan, how to work here), phase (its text, its checkpoint),
 * metadata (what is kept of each finished phase) and transient (what finished phases said in full). One table, one
 * function: what Segno itself says must stay small.
 */
export const PRUNINGS = ["aggressive", "moderate", "minimal"] as const;
export type Pruning = (typeof PRUNINGS)[number];
export const STRATEGIES = ["fixed", "dynamic", "reserve"] as const;
export type PromptBudgetStrategy = (typeof STRATEGIES)[number];

export type LayerName = "permanent" | "phase" | "metadata" | "transient";

/** What each layer should stay below, in tokens; metadata per finished phase. */
export const LAYER_TARGETS: Record<LayerName, number> = { permanent: 1_000, phase: 4_000, metadata: 300, transient: 0 };

/** What is kept of a finished phase: always its metadata; a longer summary, or all it said. */
const KEPT_OF_ANSWER: Record<Pruning, number> = { aggressive: 0, moderate: 450, minimal: Number.POSITIVE_INFINITY };

export interface FinishedPhase {
  id: string;
  metadata: string;
  /** Its metadata in one line, for when nothing else has room. */
  line: string;
  /** All that its agent said at its end. */
  answer: string;
}

export interface LayerSizes extends Record<LayerName, number> {
  /** Tokens that were left out. */
  pruned: number;
  pruning: Pruning;
}

export interface Composed {
  permanent: string;
  phase: string;
  metadata: string;
  transient: string;
  sizes: LayerSizes;
  warnings: string[];
}

/** The mode that is in force: what the user set, else by the plan; repairs see everything. */
export function pruningFor(
  setting: Pruning | "auto",
  { phases, repairing, forced }: { phases: number; repairing: boolean; forced: boolean },
): Pruning {
  if (forced) return "aggressive";
  if (setting !== "auto") return setting;
  if (repairing) return "minimal";
  return phases > 3 ? "aggressive" : "moderate";
}

export interface ToCompose {
  permanent: string;
  phase: string;
  finished: readonly FinishedPhase[];
  pruning: Pruning;
  /** What the whole prompt should stay below, and what of it this phase may fill with what others did. */
  budget: number;
  share: number;
  countTokens: (text: string) => number;
}

const DROP_TRANSIENT = 0.9;
const TURN_AGGRESSIVE = 0.95;

/**
 * The layers within their budget: at 90 % of it transient data goes, at 95 % metadata shrinks to a line a phase; the same
 * where what others did fills more than the phase's share, and then the oldest lines go. The plan's rules, the phase's own
 * text and its checkpoint are never cut.
 */
export function composeLayers(parts: ToCompose): Composed {
  let composed = layersWith(parts, parts.pruning, "all");
  const added = ({ sizes }: Composed) => sizes.metadata + sizes.transient;
  const total = (now: Composed) => now.sizes.permanent + now.sizes.phase + added(now);
  const exceeds = (share: number) => total(composed) >= parts.budget * share || added(composed) > parts.share;
  if (exceeds(DROP_TRANSIENT) && composed.sizes.transient > 0)
    composed = layersWith(parts, parts.pruning, "no-transient");
  if (exceeds(TURN_AGGRESSIVE) && parts.finished.length > 0) composed = layersWith(parts, "aggressive", "lines");
  for (let kept = parts.finished; added(composed) > parts.share && kept.length > 0; ) {
    kept = kept.slice(Math.max(1, Math.ceil(kept.length / 4)));
    composed = layersWith({ ...parts, finished: kept }, "aggressive", "lines");
  }
  const size = total(composed);
  if (size <= parts.budget) return composed;
  const [largest] = (["phase", "metadata", "permanent"] as const).toSorted(
    (a, b) => composed.sizes[b] - composed.sizes[a],
  );
  const what = {
    phase: "shorten the phase's own text, or split the phase",
    metadata: "run fewer phases in one plan",
    permanent: "shorten the plan's goal",
    transient: "",
  }[largest ?? "phase"];
  const warning = `The prompt is above its budget (${size} of ${parts.budget} tokens): reduce scope. Most of it is the ${largest} layer (${composed.sizes[largest ?? "phase"]} tokens): ${what}.`;
  return { ...composed, warnings: [warning] };
}

function layersWith(
  { permanent, phase, finished, countTokens }: ToCompose,
  pruning: Pruning,
  keep: "all" | "no-transient" | "lines",
): Composed {
  const metadata =
    keep === "lines"
      ? finished.map((each) => each.line).join("\n")
      : finished.map((each) => each.metadata).join("\n\n");
  const kept = finished.map(({ id, answer }) => {
    const most = KEPT_OF_ANSWER[pruning];
    if (most === 0 || answer === "" || keep !== "all") return "";
    const text = countTokens(answer) <= most ? answer : `${answer.slice(0, most * 3)}…`;
    return `What phase ${id} said at its end:\n${text}`;
  });
  const transient = kept.filter((text) => text !== "").join("\n\n");
  const all = finished.reduce((sum, { answer }) => sum + countTokens(answer), 0);
  const sizes = {
    permanent: countTokens(permanent),
    phase: countTokens(phase),
    metadata: countTokens(metadata),
    transient: countTokens(transient),
    pruned: Math.max(0, all - countTokens(transient)),
    pruning,
  };
  return { permanent, phase, metadata, transient, sizes, warnings: [] };
}

/** By a phase's own word; where it has none, by how much it names. */
const WEIGHTS = { simple: 5, medium: 8, complex: 12 } as const;
const FEW = 3;
const MANY = 8;
/** Of the budget, under `reserve`: for work, for repairs beside it, and held back. */
const RESERVE = { work: 0.6, debugging: 0.2, overflow: 0.2 } as const;

export interface Weighed {
  id: string;
  complexity: keyof typeof WEIGHTS | undefined;
  tasks: readonly unknown[];
  files: readonly string[];
}

function weightOf({ complexity, tasks, files }: Omit<Weighed, "id">): number {
  const named = tasks.length + files.length;
  return WEIGHTS[complexity ?? (named <= FEW ? "simple" : named <= MANY ? "medium" : "complex")];
}

/**
 * How much of the prompt budget a phase's prompt may fill with what others did. Each session has a window of its own, so
 * phases do not take it from each other: `fixed` gives every phase all of it, `dynamic` as much as its complexity is
 * worth, `reserve` 60 %, and 20 % more to a repair.
 */
export function shareOfBudget(
  strategy: PromptBudgetStrategy,
  phase: Omit<Weighed, "id">,
  budget: number,
  repairing: boolean,
): number {
  switch (strategy) {
    case "fixed":
      return budget;
    case "dynamic":
      return Math.round((budget * weightOf(phase)) / WEIGHTS.complex);
    case "reserve":
      return Math.round(budget * (RESERVE.work + (repairing ? RESERVE.debugging : 0)));
    default:
      return strategy satisfies never;
  }
}

/** The shares of all phases, and what is held back. */
export function allotPromptBudget(
  strategy: PromptBudgetStrategy,
  phases: readonly Weighed[],
  budget: number,
): { phases: Map<string, number>; debugging: number; overflow: number } {
  const held = (share: number) => (strategy === "reserve" ? Math.round(budget * share) : 0);
  return {
    phases: new Map(phases.map((phase) => [phase.id, shareOfBudget(strategy, phase, budget, false)])),
    debugging: held(RESERVE.debugging),
    overflow: held(RESERVE.overflow),
  };
}
