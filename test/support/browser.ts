/** A real Chromium, where there is one. */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, chromium, type Page } from "playwright-core";
import { expect } from "vitest";
import { whenOver } from "./scratch.js";

const PLACES = [process.env.CHROMIUM ?? "", "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export const CHROMIUM = PLACES.find((place) => place !== "" && existsSync(place));

export async function openBrowser(): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: CHROMIUM ?? "",
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
  });
  whenOver(() => browser.close());
  return browser;
}

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

/** No rule of axe is broken on this page. */
export async function expectAccessible(page: Page): Promise<void> {
  // The page's own policy lets no foreign script in; the test's tool goes round it.
  await page.evaluate(await (await import("node:fs/promises")).readFile(AXE, "utf8"));
  const { violations } = (await page.evaluate("axe.run(document)")) as {
    violations: { id: string; help: string; nodes: { html: string; failureSummary: string }[] }[];
  };
  const found = violations.map(
    ({ id, help, nodes }) => `${id}: ${help} ${nodes[0]?.html.slice(0, 200)} ${nodes[0]?.failureSummary}`,
  );
  expect(found).toEqual([]);
}

/** Everything the page asks for comes from where the page comes from. */
export function watchRequests(page: Page, origin: string): string[] {
  const strange: string[] = [];
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(origin) && !url.startsWith("data:")) strange.push(url);
  });
  return strange;
}
