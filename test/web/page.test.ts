/** The web page in a real Chromium, on a real run: watched, answered, stopped, looked back on. */
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { readConversation } from "../../src/rehearsal/conversation.js";
import { call, message } from "../../src/rehearsal/reply.js";
import { CHROMIUM, expectAccessible, openBrowser, watchRequests } from "../support/browser.js";
import { planFiles } from "../support/plans.js";
import { SAMPLE_FAILURE, sampleFacts, writeSample } from "../support/sample-run.js";
import { scratchFolder, scratchRepo } from "../support/scratch.js";
import { type Running, type Site, site } from "../support/segno.js";
import { TOOL_PREFIX } from "../support/tool-prefix.js";

const EVIL = '<img src=x onerror="window.hacked=1">';
const TAGS = '"><script>window.hacked=2</script>';

/** Screenshots for the README: `npm run pictures`. */
const PICTURES = process.env.PICTURES;
const picture = async (page: Page, name: string): Promise<void> => {
  if (PICTURES !== undefined) {
    mkdirSync(PICTURES, { recursive: true });
    await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: name !== "page" });
  }
};

async function doorOf(place: Site, running: Running): Promise<{ url: string; token: string; run: string }> {
  const started = await running.event((event) => event.type === "run-started");
  await running.event((event) => event.type === "phase-started");
  const run = started.type === "run-started" ? started.run : "";
  return JSON.parse(readFileSync(join(place.repo, ".git/segno/runs", run, "door.json"), "utf8"));
}

function repository(): string {
  const files = planFiles([
    { id: "1", title: "The library", tasks: 4, gates: ["echo '<b>bold</b> output'"] },
    { id: "2", title: `The ${EVIL} command`, tasks: [`Create \`out/2-1.txt\` ${EVIL}`], dependsOn: ["1"] },
    { id: "3", title: "The documents", tasks: 1, dependsOn: ["1"] },
  ]);
  files["plan/phase-1.md"] = (files["plan/phase-1.md"] ?? "").replace(
    "## Gates\n",
    "## Gates\n\n- looks: right to a person\n",
  );
  return scratchRepo({ ...files, ".segno/config.yaml": "gates:\n  looks: manual\n" });
}

describe.skipIf(CHROMIUM === undefined)("the web page, in Chromium", () => {
  test("a run is watched from start to end, answered on the page, and looked back on; nothing agents write is more than text", async () => {
    const place = await site({
      repo: repository(),
      charsPerTask: 9_000,
      behave: async (asked, worker) => {
        const reply = await worker(asked);
        const { phase } = readConversation(asked);
        // A checkpoint and a tool that hold what a page must not run.
        if (phase === "1" && reply.type === "message")
          for (const block of reply.content)
            if (block.type === "tool_use" && block.name === `${TOOL_PREFIX}checkpoint`)
              Object.assign(block.input, { completed: [`out/1-1.txt: ${TAGS}`, `never.txt: written ${EVIL}`] });
        return reply;
      },
    });
    const running = place.segno(["run", "PLAN.md", "--json", "--context-limit", "36000"]);
    const door = await doorOf(place, running);
    const browser = await openBrowser();
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, colorScheme: "light" });
    const strange = watchRequests(page, door.url);
    const problems: string[] = [];
    page.on("pageerror", (error) => problems.push(String(error)));
    page.on("console", (said) => (said.type() === "error" ? problems.push(said.text()) : undefined));

    await page.goto(`${door.url}/?token=${door.token}`);
    // The token was in the link once: it is a cookie now, and in no address.
    await page.waitForSelector(".card.running");
    expect(page.url()).toBe(`${door.url}/#/run/${door.run}`);
    expect(await page.locator(".card").count()).toBe(3);
    await page
      .getByText(/handed over at \d+ %/)
      .first()
      .waitFor({ state: "attached", timeout: 120_000 });

    // The phase that waits for a person is answered here, and the run goes on.
    const pass = page.getByRole("button", { name: /^pass/ });
    await pass.waitFor({ timeout: 120_000 });
    await picture(page, "question");
    expect(await page.getByText(/Without an answer by .*, later counts/).count()).toBe(1);
    // It can be answered from the dashboard, which is a server of its own.
    const looking = place.segno(["dashboard", "--no-open", "--json"]);
    const link = await new Promise<string>((resolve) => {
      void looking.event((event) => {
        if ("link" in event) resolve(String(event.link));
        return "link" in event;
      });
    });
    const past = await browser.newPage({ viewport: { width: 1280, height: 900 }, colorScheme: "light" });
    past.on("pageerror", (error) => problems.push(String(error)));
    await past.goto(link);
    await past.getByRole("link", { name: "Test plan" }).click();
    await past.getByRole("button", { name: /^pass/ }).click();
    await page.locator(".card.done").first().waitFor({ timeout: 60_000 });
    await page.locator("dd.status.completed").waitFor({ timeout: 120_000 });
    expect((await running.ended).code).toBe(0);
    expect(strange).toEqual([]);

    // What is over is shown there, too.
    const elsewhere = watchRequests(past, new URL(link).origin);
    await past.goto(new URL("/#/", link).href);
    await past.reload();
    await past.getByRole("link", { name: "Test plan" }).waitFor();
    await expectAccessible(past);
    await past.getByRole("link", { name: "Test plan" }).click();
    await past.locator("dd.status.completed").waitFor();
    await past.getByText(/^After phase \S+$/).waitFor();
    await picture(past, "page");

    // With the keyboard alone: a reading, and what it was.
    await past.locator(".chart").focus();
    for (let steps = 0; steps < 3; steps++) await past.keyboard.press("ArrowRight");
    await expect.poll(() => past.locator("div.chosen").textContent()).toMatch(/tokens, \d+ % of 36k/);
    await expectAccessible(past);

    // A phase: sessions, checkpoints with what git contradicts, gate output, tools: all of it as text.
    await past
      .getByRole("link", { name: /1 The library/ })
      .first()
      .click();
    await past.getByText("Checkpoint as the next session read it").first().waitFor();
    await past.locator(".contradictions mark").first().waitFor({ state: "attached" });
    expect(await past.locator(".contradictions").first().textContent()).toContain("never.txt");
    for (const summary of await past.locator("details summary").all()) await summary.click();
    await past.getByText("<b>bold</b> output").first().waitFor();
    expect(await past.locator("main").textContent()).toContain(EVIL);
    await picture(past, "phase");
    await expectAccessible(past);
    await past.getByRole("link", { name: /Test plan/ }).click();
    await past.getByText(EVIL).first().waitFor();
    expect(await past.evaluate("window.hacked")).toBeUndefined();
    expect(await page.evaluate("window.hacked")).toBeUndefined();

    // Dark, and as narrow as a phone: readable, and nothing is wider than the screen.
    await past.emulateMedia({ colorScheme: "dark" });
    await past.setViewportSize({ width: 390, height: 800 });
    await expectAccessible(past);
    expect(await past.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
    await picture(past, "phone");
    expect(elsewhere).toEqual([]);

    // The same in one file that needs nothing else.
    const file = join(scratchFolder(), "report.html");
    expect((await place.segno(["report", "--html", file]).ended).code).toBe(0);
    const single = await browser.newPage();
    const outside = watchRequests(single, "file://");
    single.on("pageerror", (error) => problems.push(String(error)));
    single.on("console", (said) => (said.type() === "error" ? problems.push(said.text()) : undefined));
    await single.goto(`file://${file}`);
    await single.locator("dd.status.completed").waitFor();
    await single
      .getByText(/handed over at \d+ %/)
      .first()
      .waitFor({ state: "attached" });
    await single
      .getByRole("link", { name: /1 The library/ })
      .first()
      .click();
    await single.getByText("Checkpoint as the next session read it").first().waitFor();
    expect(await single.evaluate("window.hacked")).toBeUndefined();
    expect(outside).toEqual([]);
    expect(problems).toEqual([]);
    looking.kill("SIGTERM");
    expect((await looking.ended).code).toBe(0);
  });

  test("a run that failed: why comes first, with what the gate printed; on a phone the plan stacks", async () => {
    const repo = scratchRepo({});
    await writeSample(repo, [...sampleFacts(), ...SAMPLE_FAILURE]);
    const file = join(scratchFolder(), "failed.html");
    const looked = await site({ repo });
    expect((await looked.segno(["report", "--html", file]).ended).code).toBe(0);
    const browser = await openBrowser();
    const page = await browser.newPage({ viewport: { width: 390, height: 800 } });
    await page.goto(`file://${file}`);
    const first = page.locator("main > section").first();
    expect(await first.textContent()).toContain("AssertionError: expected 9998 to be 10000");
    expect(await first.textContent()).toContain("segno resume 20260102-030405-abcd");
    const all = await page.locator(".card").all();
    const cards = await Promise.all(all.map(async (card) => (await card.boundingBox())?.x));
    expect(new Set(cards).size).toBe(1);
    // One line per session, all of them within the plot, and the threshold on it.
    expect(await page.locator(".chart path.line").count()).toBe(4);
    expect(await page.locator(".chart .hard line").count()).toBe(1);
    await expectAccessible(page);
  });

  test("stop works, and who has no business here is refused", async () => {
    let held = true;
    const place = await site({
      repo: scratchRepo(planFiles([{ id: "1", tasks: 3 }])),
      behave: async (asked, worker) => {
        const { phase, turns } = readConversation(asked);
        if (phase === "1" && turns.length > 1 && held)
          return message(call("Bash", { command: "sleep 1", description: "Take a moment" }));
        return worker(asked);
      },
    });
    const running = place.segno(["run", "PLAN.md", "--json"]);
    const door = await doorOf(place, running);
    const { port } = new URL(door.url);
    const askHolder = (path: string, headers: Record<string, string>, method = "GET"): Promise<number> =>
      new Promise((resolve, reject) => {
        const asked = request({ host: "127.0.0.1", port, path, method, headers }, (response) => {
          response.resume();
          resolve(response.statusCode ?? 0);
        });
        asked.on("error", reject);
        asked.end(method === "POST" ? "{}" : undefined);
      });
    const cookie = `segno_${port}=${door.token}`;
    expect(await askHolder("/", {})).toBe(401);
    expect(await askHolder("/?token=wrong", {})).toBe(401);
    expect(await askHolder("/", { cookie: `segno_${port}=wrong` })).toBe(401);
    expect(await askHolder("/", { cookie, host: "evil.example" })).toBe(403);
    expect(await askHolder("/api/runs", { cookie, origin: "http://evil.example" })).toBe(403);
    expect(await askHolder("/stop", { cookie, origin: "http://evil.example" }, "POST")).toBe(403);
    expect(await askHolder("/stop", { cookie }, "POST")).toBe(403);
    expect(await askHolder("/assets/..%2f..%2fcli%2fmain.js", { cookie })).toBe(404);
    expect(await askHolder("/api/runs/..%2f..%2f/board", { cookie })).toBe(404);
    expect(await askHolder(`/api/runs/${door.run}/blobs/..%2fjournal.jsonl`, { cookie })).toBe(404);
    expect(await askHolder("/api/runs", { cookie })).toBe(200);

    const browser = await openBrowser();
    const page = await browser.newPage();
    await page.goto(`${door.url}/?token=${door.token}`);
    const policy = await page.evaluate("fetch('/').then((r) => r.headers.get('content-security-policy'))");
    expect(policy).toContain("default-src 'none'");
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("button", { name: "Go on" }).click();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.locator("dd.status.stopped, dd.status.running").first().waitFor();
    expect((await running.ended).code).toBe(3);
    held = false;
    expect(readdirSync(join(place.repo, ".git/segno/runs"))).toHaveLength(1);
  });
});
