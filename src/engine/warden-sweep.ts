/** What the warden runs when Segno is gone: ends every process that it started for the run, and looks twice. */
import { setTimeout as sleep } from "node:timers/promises";
import { sweep } from "../agents/processes.js";

async function sweepTwice(markers: string): Promise<void> {
  const isItsOwn = (marker: string): boolean => marker.startsWith(markers);
  await sweep(isItsOwn);
  // A process that was being started in that moment shows its environment only now.
  await sleep(500);
  await sweep(isItsOwn);
}

const markers = process.argv[2];
if (markers !== undefined && markers !== "") void sweepTwice(markers);
