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
  budget: number;
  countTokens: (text: string) => number;
}

const DROP_TRANSIENT = 0.9;
const TURN_AGGRESSIVE = 0.95;

/** The layers within their budget: at 90 % of it transient data goes, at 95 % metadata shrinks to a line a phase. */
export function composeLayers(parts: ToCompose): Composed {
  let composed = layersWith(parts, parts.pruning, "all");
  const total = ({ sizes }: Composed) => sizes.permanent + sizes.phase + sizes.metadata + sizes.transient;
  if (total(composed) >= parts.budget * DROP_TRANSIENT && composed.sizes.transient > 0)
    composed = layersWith(parts, parts.pruning, "no-transient");
  if (total(composed) >= parts.budget * TURN_AGGRESSIVE && parts.finished.length > 0)
    composed = layersWith(parts, "aggressive", "lines");
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

const WEIGHTS: [RegExp, number][] = [
  [/simple|low|small|trivial/i, 5],
  [/complex|high|large|hard/i, 12],
];
const MEDIUM = 8;

/** The prompt budget divided among the phases, and what is held back. */
export function allotPromptBudget(
  strategy: PromptBudgetStrategy,
  phases: readonly { id: string; complexity: string | undefined }[],
  budget: number,
): { phases: Map<string, number>; debugging: number; overflow: number } {
  const weight = ({ complexity }: { complexity: string | undefined }) =>
    strategy === "dynamic" ? (WEIGHTS.find(([form]) => form.test(complexity ?? ""))?.[1] ?? MEDIUM) : 1;
  const forPhases = strategy === "reserve" ? budget * 0.6 : budget;
  const held = strategy === "reserve" ? Math.round(budget * 0.2) : 0;
  const sum = phases.reduce((total, phase) => total + weight(phase), 0);
  const shares = phases.map((phase): [string, number] => [phase.id, Math.round((forPhases * weight(phase)) / sum)]);
  return { phases: new Map(shares), debugging: held, overflow: held };
}
