/** What the warden runs when Segno is gone: ends every process of the run, and looks twice. */
import { setTimeout as sleep } from "node:timers/promises";
import { sweep } from "../agents/processes.js";
import { isOfRun } from "./marker.js";

async function sweepTwice(run: string): Promise<void> {
  await sweep(isOfRun(run));
  // A process that was being started in that moment shows its environment only now.
  await sleep(500);
  await sweep(isOfRun(run));
}

const run = process.argv[2];
if (run !== undefined && run !== "") void sweepTwice(run);
