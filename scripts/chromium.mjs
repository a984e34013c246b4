// A browser for the tests of the web page: Debian's, where it can be installed; else they say so and are skipped.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

const NAMES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

if (!NAMES.some((name) => existsSync(name)) && process.env.CHROMIUM === undefined) {
  const canInstall = process.getuid?.() === 0 && existsSync("/usr/bin/apt-get");
  const run = (...args) =>
    spawnSync("apt-get", args, {
      stdio: ["ignore", "ignore", "pipe"],
      encoding: "utf8",
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
      timeout: 300_000,
    });
  if (canInstall) {
    console.log("Installing chromium for the tests of the web page …");
    run("update", "-qq");
    const { status, stderr } = run("install", "-y", "-qq", "--no-install-recommends", "chromium");
    if (status !== 0) console.log(`It could not be installed: ${stderr?.trim().split("\n").at(-1) ?? status}`);
  }
  if (!NAMES.some((name) => existsSync(name)))
    console.log(
      "No chromium here: the tests of the web page are skipped. Install it (apt-get install chromium), or set CHROMIUM to a browser's path.",
    );
}
