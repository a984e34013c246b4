/** What a rehearsal found out about the gates of a plan, a line each. */
import type { FactOf, RunEvent } from "../run/event.js";

interface Seen {
  name: string;
  before: boolean | undefined;
  last: (FactOf<"gate-finished"> & RunEvent) | undefined;
  phases: Set<string>;
  /** Phases without whose work it passes, too. */
  provesNothing: string[];
}

/** Exit codes of a shell that could not even begin the command. */
const NOT_JUDGED: Record<number, string> = { 126: "it cannot be executed", 127: "the command is not there" };

export function gatesReport(events: readonly RunEvent[]): string[] {
  const [first] = events;
  if (first?.type !== "run-started") return [];
  const seen = new Map<string, Seen>();
  const manual: string[] = [];
  for (const { id, gates } of first.plan.phases)
    for (const { name, check } of gates) {
      if (check.type === "manual") manual.push(`${name} (phase ${id}): manual, a person must look; a rehearsal cannot`);
      else {
        const known = seen.get(name) ?? {
          name,
          before: undefined,
          last: undefined,
          phases: new Set<string>(),
          provesNothing: [],
        };
        known.phases.add(id);
        seen.set(name, known);
      }
    }
  for (const event of events) {
    if (event.type === "gates-baselined")
      for (const { name, passed } of event.results) Object.assign(seen.get(name) ?? {}, { before: passed });
    if (event.type !== "gate-finished") continue;
    const known = seen.get(event.name);
    if (known === undefined) continue;
    known.last = event;
    if (event.without === true) known.provesNothing.push(event.phase);
  }
  return [...[...seen.values()].map(sentence), ...manual];
}

function sentence({ name, before, last, phases, provesNothing }: Seen): string {
  const where = `${name} (phase ${[...phases].join(", ")})`;
  if (last === undefined) return `${where}: did not run; its phase was not reached`;
  const why = last.exit === null ? undefined : NOT_JUDGED[last.exit];
  if (why !== undefined)
    return `${where}: could not be judged: ${why} (exit ${last.exit}); in a real run that fails it`;
  const doubt =
    provesNothing.length === 0
      ? ""
      : `, also without the work of phase ${provesNothing.join(", ")}: there it proves nothing (it may still guard against breakage)`;
  if (last.passed) return `${where}: passed${before === false ? ", and failed before the first phase" : ""}${doubt}`;
  if (before === false) return `${where}: failed before the first phase already, and after it: ${last.why}`;
  return `${where}: failed after the stand-in's changes: ${last.why}. Its changes mean nothing, so this says little of the gate`;
}
