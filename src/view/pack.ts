/** A folded run as JSON, maps and sets included: for pages that go on folding it. */
import type { RunState } from "../run/state.js";
import type { History } from "./history.js";

interface Folded {
  state: RunState;
  history: History;
}

const MAP = "$map";
const SET = "$set";

export const pack = (folded: Folded): string =>
  JSON.stringify(folded, (_, value: unknown) => {
    if (value instanceof Map) return { [MAP]: [...value] };
    return value instanceof Set ? { [SET]: [...value] } : value;
  });

export const unpack = (text: string): Folded =>
  JSON.parse(text, (_, value: unknown) => {
    if (typeof value !== "object" || value === null) return value;
    if (MAP in value) return new Map(value[MAP] as [unknown, unknown][]);
    return SET in value ? new Set(value[SET] as unknown[]) : value;
  }) as Folded;
