/** Whatever carries a session's marker is ended, however it comes and goes. */
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findProcesses, MARKER, sweep } from "../../src/agents/processes.js";
import { eventually } from "../support/eventually.js";
import { scratchFolder } from "../support/scratch.js";

test.skipIf(process.platform !== "linux")(
  "a command that is always somebody else's orphan: each process starts the next one and ends",
  async () => {
    const folder = scratchFolder();
    const relay = join(folder, "relay.sh");
    writeFileSync(relay, `echo >> ${folder}/hops\nsetsid sh ${relay} &\n`);
    for (let time = 0; time < 5; time++) {
      const marker = `sweep-test:${process.pid}:${time}`;
      const ofIt = (candidate: string): boolean => candidate === marker;
      spawn("sh", [relay], { env: { ...process.env, [MARKER]: marker }, stdio: "ignore", detached: true }).unref();
      await eventually("it runs", async () => (await findProcesses(ofIt)).length > 0);
      await sweep(ofIt);
      expect(await findProcesses(ofIt)).toEqual([]);
    }
  },
);
