/** What marks the processes of one session or gate, in their environment: the run, who started it, and what it is. */
import { hostname } from "node:os";

/** Of this machine; whoever works beside us on the same one is told apart by it. */
const worker = (): string => process.env.SEGNO_WORKER ?? hostname();

export const markerOf = (run: string, id: string): string => `${run}:${worker()}:${id}`;

/** Whether a marker belongs to this run, as far as this worker started it. Those of version 0.1 name no worker. */
export const isOfRun = (run: string): ((marker: string) => boolean) => {
  const own = worker();
  return (marker) => {
    if (!marker.startsWith(`${run}:`)) return false;
    const rest = marker.slice(run.length + 1);
    const at = rest.indexOf(":");
    return at < 0 || rest.slice(0, at) === own;
  };
};
