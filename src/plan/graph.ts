/** The order of phases: waves, and cycles named whole. */
import type { Phase } from "./model.js";

/** A cycle as the list of ids along it, the first repeated at the end; undefined where there is none. */
export function findCycle(phases: readonly Pick<Phase, "id" | "dependsOn">[]): string[] | undefined {
  const byId = new Map(phases.map((phase) => [phase.id, phase]));
  const state = new Map<string, "open" | "closed">();
  for (const root of phases) {
    if (state.has(root.id)) continue;
    const path: string[] = [];
    // An explicit stack: a plan may be a chain of thousands of phases.
    const stack: { id: string; next: number }[] = [{ id: root.id, next: 0 }];
    state.set(root.id, "open");
    path.push(root.id);
    while (stack.length > 0) {
      const top = stack[stack.length - 1] as { id: string; next: number };
      const dependency = byId.get(top.id)?.dependsOn[top.next++];
      if (dependency === undefined) {
        state.set(top.id, "closed");
        stack.pop();
        path.pop();
      } else if (state.get(dependency) === "open") {
        return [...path.slice(path.indexOf(dependency)), dependency];
      } else if (!state.has(dependency) && byId.has(dependency)) {
        state.set(dependency, "open");
        stack.push({ id: dependency, next: 0 });
        path.push(dependency);
      }
    }
  }
  return undefined;
}

/** Ids in the order they can run: each wave needs only waves before it. What waits in a circle is in none. */
export function wavesOf(phases: readonly Pick<Phase, "id" | "dependsOn">[]): string[][] {
  const ids = new Set(phases.map((phase) => phase.id));
  const waiting = new Map(phases.map((phase) => [phase.id, new Set(phase.dependsOn.filter((id) => ids.has(id)))]));
  const dependants = new Map<string, string[]>();
  for (const [id, needs] of waiting) {
    for (const need of needs) {
      const list = dependants.get(need);
      if (list === undefined) dependants.set(need, [id]);
      else list.push(id);
    }
  }
  const waves: string[][] = [];
  for (let wave = [...waiting].filter(([, needs]) => needs.size === 0).map(([id]) => id); wave.length > 0; ) {
    waves.push(wave);
    const next: string[] = [];
    for (const done of wave) {
      for (const id of dependants.get(done) ?? []) {
        const needs = waiting.get(id);
        needs?.delete(done);
        if (needs?.size === 0) next.push(id);
      }
    }
    wave = next;
  }
  return waves;
}
