// The board and the page: events a second, time to open a run of 50,000 events, bytes of script that are sent.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { prepareSegnoFolder } from "../build/engine/runs.js";
import { Git } from "../build/git/git.js";
import { FileStore } from "../build/store/file.js";
import { RunView } from "../build/view/board.js";
import { openDashboard } from "../build/web/dashboard.js";
import { best, repository, table } from "./measure.mjs";
import { runStarted } from "./run-started.mjs";

const EVENTS = 50_000;
const RUN = "20260102-030405-abcd";
const PHASES = 30;

function* facts() {
  const phases = Array.from({ length: PHASES }, (_, n) => ({
    id: String(n + 1),
    title: `Phase ${n + 1}`,
    dependsOn: n === 0 ? [] : [String(n)],
    tasks: Array.from({ length: 20 }, (_, t) => ({
      id: `${n + 1}.${t + 1}`,
      title: "t",
      ticked: false,
      file: "P",
      line: 1,
    })),
    gates: [],
    text: "",
    files: [],
    criteria: [],
    readFirst: [],
    file: "P",
    line: 1,
  }));
  const plan = { format: "master", title: "Twelve hours", goal: "", file: "P", files: ["P"], phases };
  yield runStarted(plan, {}, { run: RUN });
  const model = "claude-sonnet-4-5";
  for (const { id } of phases) {
    const start = `${id}/a1/start`;
    yield { type: "command-issued", phase: id, command: { type: "start-phase", id: start, phase: id, attempt: 1 } };
    yield { type: "phase-started", command: start, phase: id, attempt: 1, head: "h", baseline: "b", staged: [] };
    for (let n = 1; n <= 4; n++) {
      const place = { phase: id, attempt: 1, session: `${id}/a1/session/${n}` };
      const command = { type: "start-session", id: place.session, ...place, purpose: "work", n, opening: "work" };
      yield { type: "command-issued", phase: id, command };
      yield {
        type: "session-started",
        ...place,
        purpose: "work",
        prompt: "sha256:",
        promptTokens: 900,
        resumed: false,
      };
      yield { type: "session-ready", ...place, agentSession: "a", model, window: 200_000, compactAt: 167_000 };
      const calls = 205;
      for (let call = 0; call < calls; call++) {
        const tokens = 25_000 + Math.round((135_000 * call) / calls);
        const usage = { input: 20, cacheRead: tokens - 900, cacheWrite: 600, output: 280 };
        yield {
          type: "call-made",
          ...place,
          call: `${n}/${call}`,
          model,
          usage,
          subagent: false,
          reading: { tokens, window: 200_000, percent: tokens / 2_000, source: "exact", margin: 0 },
        };
        yield {
          type: "tool-finished",
          kind: "shell",
          ...place,
          tool: "Bash",
          brief: `npm test -- part ${call}`,
          ok: call % 9 !== 0,
          subagent: false,
        };
      }
      yield { type: "session-ended", command: "", ...place, reason: n < 4 ? "handed-over" : "result", swept: 0 };
    }
    yield { type: "phase-done", phase: id, attempt: 1, verified: true, tasksDone: [] };
  }
  yield { type: "run-completed" };
}

const top = repository({ "README.md": "x\n" });
prepareSegnoFolder(top);
let seconds = 0;
const clock = () => new Date(Date.parse("2026-01-02T03:04:05Z") + seconds++ * 850);
const store = new FileStore(top, clock);
const journal = await store.create(RUN, { epoch: 1, redact: (text) => text });
const batch = [];
let seq = 0;
const flush = () => {
  journal.append(batch);
  seq += batch.length;
  batch.length = 0;
};
for (const fact of facts()) {
  batch.push(fact);
  if (batch.length === 500) flush();
}
flush();
await journal.close();
if (Math.abs(seq - EVENTS) > 1_500) throw new Error(`the sample has ${seq} events`);

const { events } = await store.read(RUN);
let view;
const fold = best(5, () => {
  view = new RunView();
  for (const event of events) view.take(event);
});
const lines = events.map((event) => JSON.stringify(event));
const parse = best(5, () => {
  for (const line of lines) JSON.parse(line);
});
const bytes = JSON.stringify(view.board).length;

const dashboard = await openDashboard(store, new Git(top), 0);
const token = new URL(dashboard.link).searchParams.get("token");
const headers = { authorization: `Bearer ${token}` };
const began = performance.now();
await (await fetch(`${dashboard.url}/api/runs/${RUN}/folded`, { headers })).json();
const served = performance.now() - began;

const rows = [
  [
    "fold of state and history",
    `${Math.round(seq / (fold / 1_000)).toLocaleString("en")} events/s`,
    `${(fold / parse).toFixed(2)} of JSON.parse`,
  ],
  ["board of the whole run", `${Math.round(bytes / 1024)} kB`, ""],
  ["first answer of the server", `${Math.round(served)} ms`, ""],
];
const assets = new URL("../dist/page/assets/", import.meta.url);
const script = readdirSync(assets).filter((name) => name.endsWith(".js"));
const sent = script.reduce((sum, name) => sum + gzipSync(readFileSync(new URL(name, assets))).length, 0);
rows.push(["script, compressed", `${(sent / 1024).toFixed(1)} kB`, "aim under 100 kB"]);

const chromium = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find((path) => existsSync(path));
if (chromium !== undefined) {
  const { chromium: browsers } = await import("playwright-core");
  const browser = await browsers.launch({ executablePath: chromium, args: ["--no-sandbox", "--disable-gpu"] });
  const page = await browser.newPage();
  await page.goto(dashboard.link);
  await page.waitForSelector("table a");
  const times = [];
  for (let n = 0; n < 3; n++) {
    await page.goto(`${dashboard.url}/#/`);
    await page.waitForSelector("table a");
    const start = performance.now();
    await page.click("table a");
    await page.waitForSelector("dd.status.completed");
    await page.waitForSelector(".chart canvas");
    times.push(performance.now() - start);
  }
  rows.push(["opened in Chromium", `${Math.round(Math.min(...times))} ms`, "aim under 1 s"]);
  const frames = await page.evaluate(`new Promise((resolve) => {
    let frames = 0;
    const began = performance.now();
    const step = () => {
      scrollBy(0, frames % 200 < 100 ? 12 : -12);
      frames++;
      performance.now() - began < 2000 ? requestAnimationFrame(step) : resolve(frames / 2);
    };
    requestAnimationFrame(step);
  })`);
  rows.push(["scrolling", `${Math.round(frames)} frames/s`, "60 is smooth"]);
  await browser.close();
} else rows.push(["opened in Chromium", "not measured", "no chromium here"]);
await dashboard.close();
const node = Number(
  execFileSync(
    process.execPath,
    ["-e", "const b=performance.now();for(let i=0,s=0;i<1e7;i++)s+=i;console.log(performance.now()-b)"],
    { encoding: "utf8" },
  ),
);
console.log(`\nscreens: a run of ${seq} events (a loop of ten million additions takes ${node.toFixed(0)} ms here)`);
console.log(table(["what", "measured", "against"], rows));
