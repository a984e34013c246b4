/** What marks the processes of one session or gate, in their environment: the run, who started it, and what it is. */
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";

/** Of this machine; whoever works beside us on the same one is told apart by it. */
const worker = (): string => process.env.SEGNO_WORKER ?? hostname();

/** Of this process: whoever ends what it left ends nothing of the process that goes on after it. */
const own = randomBytes(4).toString("hex");

/** How the markers of all that this process starts for a run begin. */
export const markersOf = (run: string): string => `${run}:${worker()}:${own}:`;

export const markerOf = (run: string, id: string): string => `${markersOf(run)}${id}`;

/** Whether this very process started it, for whichever run. */
export const isOwn = (marker: string): boolean => marker.split(":")[2] === own;

/** Whether a marker belongs to this run, as far as this worker started it, now or before. Those of version 0.1 name no worker. */
export const isOfRun = (run: string): ((marker: string) => boolean) => {
  const who = worker();
  return (marker) => {
    if (!marker.startsWith(`${run}:`)) return false;
    const rest = marker.slice(run.length + 1);
    const at = rest.indexOf(":");
    return at < 0 || rest.slice(0, at) === who;
  };
};
