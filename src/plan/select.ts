/** `--phases 1-3,5`, `--from 2`, `--only 3`: ids of the plan, or what is wrong with the request. */
import type { Plan } from "./model.js";

export interface Selection {
  phases?: string | undefined;
  from?: string | undefined;
  only?: string | undefined;
}

export type Selected = { ok: true; ids: string[] | undefined } | { ok: false; unknown: string };

export function selectPhases(plan: Plan, { phases, from, only }: Selection): Selected {
  const ids = plan.phases.map((phase) => phase.id);
  if (only !== undefined) return ids.includes(only) ? { ok: true, ids: [only] } : { ok: false, unknown: only };
  const after = from === undefined ? 0 : ids.indexOf(from);
  if (after < 0) return { ok: false, unknown: from ?? "" };
  if (phases === undefined) return { ok: true, ids: from === undefined ? undefined : ids.slice(after) };
  const chosen = new Set<string>();
  for (const part of phases.split(",").map((text) => text.trim())) {
    const range = rangeOf(part, ids);
    if (range === undefined) return { ok: false, unknown: part };
    for (const id of range) chosen.add(id);
  }
  return { ok: true, ids: ids.slice(after).filter((id) => chosen.has(id)) };
}

/** An id, or two with a dash between them; ids may hold dashes themselves. */
function rangeOf(part: string, ids: readonly string[]): string[] | undefined {
  if (ids.includes(part)) return [part];
  for (let dash = part.indexOf("-"); dash > 0; dash = part.indexOf("-", dash + 1)) {
    const [start, end] = [ids.indexOf(part.slice(0, dash)), ids.indexOf(part.slice(dash + 1))];
    if (start >= 0 && end >= start) return ids.slice(start, end + 1);
  }
  return undefined;
}
