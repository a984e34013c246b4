/** After each phase: what filled its windows, and what the run has used so far. */
import { LAYER_TARGETS } from "../context/layers.js";
import { thousands } from "./numbers.js";
import type { PhaseFigures, RunFigures } from "./report.js";
import { table } from "./table.js";

const WARN = 75;
const CRITICAL = 95;

export function contextReport(
  { phases, prompt_budget: budget }: { phases: readonly PhaseFigures[]; prompt_budget: number },
  id: string,
): string[] {
  const phase = phases.find((candidate) => candidate.id === id);
  if (phase === undefined || phase.sessions === 0) return [];
  const { system, largest_prompt: used, prompt, file_reads, tool_output, words } = phase.context;
  const percent = Math.round((used / budget) * 100);
  const state = percent >= CRITICAL ? "critical: " : percent >= WARN ? "warning: " : "";
  const parts: [string, number][] = [
    ["system and tools", system],
    ["prompts", prompt],
    ["file reads", file_reads],
    ["tool output", tool_output],
    ["its own words", words],
  ];
  const all = parts.reduce((sum, [, tokens]) => sum + tokens, 0);
  const filled = parts.map(([name, n]) => `${name} ${thousands(n)} (${Math.round((n / Math.max(1, all)) * 100)} %)`);
  const sum = (pick: (phase: PhaseFigures) => number) =>
    phases.filter(({ part_of }) => part_of === undefined).reduce((total, each) => total + pick(each), 0);
  const cost = phases.some((each) => each.cost_usd === undefined)
    ? ""
    : `, $${sum((each) => each.cost_usd ?? 0).toFixed(2)}`;
  return [
    `context: ${filled.join(", ")}`,
    `prompt budget: ${state}${used} of ${budget} tokens used (${percent} %), ${Math.max(0, budget - used)} left`,
    `so far: ${sum((each) => each.sessions)} sessions, ${sum((each) => each.restarts)} handovers, ${thousands(sum((each) => each.tokens.total))} tokens${cost}`,
  ];
}

/** `segno status --context`: the layers of each phase's newest prompt, and what was left out. */
export function layersTable({ phases, prompt_budget: budget, allotment }: RunFigures): string {
  const rows = phases.map(({ id, context: { layers } }) => [
    id,
    String(allotment.phases[id] ?? 0),
    ...(layers === undefined
      ? ["", "", "", "", "", ""]
      : [layers.permanent, layers.phase, layers.metadata, layers.transient, layers.pruned, layers.pruning].map(String)),
  ]);
  const targets = ["target", "", ...Object.values(LAYER_TARGETS).map((tokens) => `≤ ${tokens}`), "", ""];
  const head = ["phase", "share", "permanent", "phase text", "metadata", "transient", "left out", "pruning"];
  const held =
    allotment.debugging > 0 ? `, ${allotment.debugging} held for debugging, ${allotment.overflow} for overflow` : "";
  return `Prompt budget ${budget} tokens${held}. Layers of each phase's newest prompt, in tokens:\n\n${table(head, [...rows, targets])}`;
}

/** Forecast against truth, for phases that were done. */
export function forecastReport({ phases }: RunFigures): string[] {
  return phases.flatMap((phase) => {
    if (phase.forecast === undefined || phase.status !== "done" || phase.sessions === 0) return [];
    const { sessions, tokens } = phase.forecast;
    return [
      `phase ${phase.id}: ${phase.sessions} sessions (expected ${sessions}), ${thousands(phase.tokens.total)} tokens (expected ${thousands(tokens)})`,
    ];
  });
}
