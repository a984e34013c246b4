/** An event as it may be written: without secrets. */
import type { FactType } from "../run/event.js";
import { type Redact, redactDeep } from "../secrets/redact.js";

/** What the run is made of: the user's own plan and ids, which a run could not do without. Nothing agents said. */
const FRAME: ReadonlySet<FactType> = new Set(["run-started", "command-issued", "phase-started"]);

export const cleaned = <T extends { type: FactType }>(event: T, redact: Redact): { clean: T; json: string } =>
  FRAME.has(event.type) ? { clean: event, json: JSON.stringify(event) } : redactDeep(event, redact);
