// Preloaded into Segno by the crash tests: ends it with a signal right after event k is in the journal, and notes
// which processes of earlier sessions are alive when a session starts.
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const { KILL_AT, KILL_SIGNAL, ALIVE_FILE, FULL_AT } = process.env;
for (const name of ["KILL_AT", "KILL_SIGNAL", "ALIVE_FILE", "FULL_AT"]) delete process.env[name];

const { writeSync } = fs;
let sent = false;
fs.writeSync = (fd, data, ...rest) => {
  if (
    FULL_AT &&
    Buffer.isBuffer(data) &&
    data.includes('"seq":') &&
    Number(/"seq":(\d+)/.exec(data.toString())?.[1]) >= Number(FULL_AT)
  ) {
    // As a full disk does it: some of it is written, then nothing more.
    if (!sent) writeSync(fd, data, 0, Math.floor(data.length / 2));
    sent = true;
    throw Object.assign(new Error("ENOSPC: no space left on device, write"), {
      code: "ENOSPC",
      errno: -28,
      syscall: "write",
    });
  }
  const written = writeSync(fd, data, ...rest);
  const text = typeof data === "string" ? data : Buffer.from(data).toString("utf8");
  if (!text.startsWith('{"v":')) return written;
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const event = JSON.parse(line);
    if (ALIVE_FILE && event.type === "session-started") fs.appendFileSync(ALIVE_FILE, `${JSON.stringify(marked())}\n`);
    if (KILL_AT && event.seq === Number(KILL_AT) && !sent) {
      sent = true;
      process.kill(process.pid, KILL_SIGNAL ?? "SIGKILL");
    }
  }
  return written;
};
syncBuiltinESMExports();

/** The markers of all running sessions on this machine. */
function marked() {
  return fs.readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      if (fs.readFileSync(`/proc/${name}/stat`, "utf8").includes(") Z ")) return [];
      const variables = fs.readFileSync(`/proc/${name}/environ`, "utf8").split("\0");
      return variables
        .filter((variable) => variable.startsWith("SEGNO_SESSION="))
        .map((variable) => variable.slice(14));
    } catch {
      return [];
    }
  });
}
