/** The README's pictures, made from a rehearsal of the example: `npm run pictures`. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { CHROMIUM, openBrowser } from "./support/browser.js";
import { inPty } from "./support/pty.js";
import { scratchFolder } from "./support/scratch.js";
import { SEGNO } from "./support/segno.js";
import { svgOf } from "./support/svg.js";

const FOLDER = process.env.PICTURES;

/** The door of the rehearsal, wherever its stage is. */
async function linkIn(folder: string): Promise<string> {
  for (let tries = 0; tries < 300; tries++) {
    try {
      const [stage = ""] = readdirSync(folder).filter((name) => name.startsWith("segno-rehearsal-"));
      const runs = join(folder, stage, "repository/.git/segno/runs");
      const [run = ""] = readdirSync(runs);
      const door = JSON.parse(readFileSync(join(runs, run, "door.json"), "utf8")) as { url: string; token: string };
      return `${door.url}/?token=${door.token}`;
    } catch {
      await sleep(100);
    }
  }
  throw new Error("no door was opened");
}

describe.skipIf(FOLDER === undefined || CHROMIUM === undefined)("pictures", () => {
  test("the terminal and the page of a rehearsal", async () => {
    const folder = FOLDER ?? "";
    mkdirSync(folder, { recursive: true });
    const temporary = scratchFolder();
    const env = { PATH: process.env.PATH ?? "", HOME: scratchFolder(), TMPDIR: temporary };
    const command = [process.execPath, SEGNO, "rehearse", "--example"];
    const pty = inPty(command, { cwd: scratchFolder(), env, columns: 108, rows: 27 });
    const link = await linkIn(temporary);
    const browser = await openBrowser();
    const page = await browser.newPage({
      viewport: { width: 1180, height: 980 },
      colorScheme: "light",
      deviceScaleFactor: 1.5,
    });
    await page.goto(link);
    await pty.until(
      (lines) => lines.some((line) => /◐ 3 /.test(line)) && lines.some((line) => /now +[1-9]/.test(line)),
      "the last phase",
    );
    await sleep(400);
    writeFileSync(join(folder, "screen.svg"), svgOf(pty.terminal));
    await page.waitForSelector("dd.status.completed", { timeout: 60_000 });
    await page.screenshot({ path: join(folder, "page.png") });
    expect(await pty.ended).toBe(0);
  });
});
