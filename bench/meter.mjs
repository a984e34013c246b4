// The meter against the truth on 30,179 calls of 501 public sessions (numbers only: bench/data), beside the ways others
// count; and how fast `segno meter` reads a large transcript. With --picture, draws docs/images/meter.svg.
import { spawn } from "node:child_process";
import { closeSync, openSync, statSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Baselines } from "../build/agents/claude/rival-counts.js";
import { evaluate } from "../build/context/evaluate.js";
import { meter, newMeter, readMeter } from "../build/context/meter.js";
import { rowsOf } from "./growth.mjs";
import { report, SEGNO, scratch, table } from "./measure.mjs";

const KINDS = {
  user: "user",
  read: "read",
  bash: "bash",
  grep: "grep",
  edit: "edit",
  agent: "agent",
  web: "web",
  mcp: "mcp",
  othertool: "other",
  attach: "attachment",
  meta: "meta",
  summary: "summary",
};
const RESULTS = new Set(["bash", "grep", "edit", "agent", "web", "mcp", "othertool"]);

const sessions = new Map();
for (const row of rowsOf()) {
  const session = sessions.get(row.session) ?? {
    state: newMeter(),
    others: new Baselines(),
    calls: [],
    held: row.held,
  };
  sessions.set(row.session, session);
  take(session, row);
}

function take({ state, others, calls }, row) {
  const n = (name) => Number(row[name] || 0);
  const id = `c${calls.length}`;
  if (row.compacted) meter(state, { type: "compacted" });
  for (const [column, kind] of Object.entries(KINDS)) {
    const chars = n(`before_${column}_chars`);
    if (chars === 0) continue;
    meter(state, { type: "appended", key: `${id}${column}`, kind, chars, isResult: false });
    others.appended(column === "read" ? "reads" : RESULTS.has(column) ? "outputs" : "prompts", chars);
  }
  for (let result = 0; result < n("before_tool_results"); result++)
    meter(state, { type: "appended", key: `${id}r${result}`, kind: "bash", chars: 0, isResult: true });
  if (n("before_images") > 0)
    meter(state, {
      type: "appended",
      key: `${id}i`,
      kind: "user",
      chars: 0,
      isResult: false,
      images: n("before_images"),
    });
  const truth = n("prompt_tokens");
  const { source, tokens } = readMeter(state);
  const lastOnly = state.anchor === undefined ? undefined : state.anchor.prompt + (state.anchor.output ?? 0);
  const segno = source === "exact" || source === "anchored" ? tokens : undefined;
  calls.push({ expected: { segno, ...others.expected, "last prompt and output, tail ignored": lastOnly }, truth });
  meter(state, { type: "call-started", id, model: row.model, prompt: truth });
  const toolInput = n("assistant_tool_input_chars");
  const text = n("assistant_text_chars");
  const said = { text, thinking: n("assistant_thinking_chars"), toolInput, toolCalls: n("assistant_tool_calls") };
  meter(state, { type: "call-content", id, ...said });
  const final = row.output_is_final;
  if (final) meter(state, { type: "call-finished", id, output: n("output_tokens") });
  others.said(text + toolInput);
  // Of the prompt the numbers tell only the sum: all but the growth was read from the cache.
  const before = calls.at(-2)?.truth ?? 0;
  const fresh = Math.max(0, truth - before);
  others.called({ input: 4, cacheRead: Math.max(0, truth - fresh), cacheWrite: fresh, output: n("output_tokens") });
}

const judge = (some) =>
  some.map(({ calls }) => ({
    window: calls.some((call) => call.truth > 200_000) ? 1_000_000 : 200_000,
    calls,
  }));
const show = (title, judged) => {
  const methods = Object.keys(judged[0].calls[0].expected);
  const rows = methods.map((method) => [method, evaluate(judged, method)]);
  console.log(`\nmeter: ${rows[0][1].predictions} predictions in ${judged.length} sessions ${title}`);
  console.log(
    table(
      ["way of counting", "median %", "p90 %", "p99 %", "bias %", "at 80 %: exact / early / late / never"],
      rows.map(([method, { error, thresholds }]) => {
        const { exact, early, late, never } = thresholds["80"];
        const cells = [error.median, error.p90, error.p99, error.bias].map((value) => value.toFixed(3));
        return [method, ...cells, `${exact} / ${early} / ${late} / ${never}`];
      }),
    ),
  );
  return rows;
};
const all = [...sessions.values()];
show("that the ratios were fitted on (bench/fit.mjs)", judge(all.filter(({ held }) => !held)));
const figures = show("that were held out", judge(all.filter(({ held }) => held)));

if (process.argv.includes("--picture")) {
  const file = fileURLToPath(new URL("../docs/images/meter.svg", import.meta.url));
  writeFileSync(file, picture(figures));
  console.log(`  drawn: ${file}`);
}

/** Median and 99th percentile of the error on a logarithmic scale, one bar a way of counting. */
function picture(rows) {
  const left = 300;
  const width = 820;
  const height = 60 + rows.length * 46;
  const x = (percent) => left + ((Math.log10(Math.max(0.01, percent)) + 2) / 7) * (width - left - 60);
  const bars = rows.map(([method, { error }], index) => {
    const y = 44 + index * 46;
    const own = method === "segno";
    return `<text x="${left - 12}" y="${y + 15}" text-anchor="end" class="${own ? "own" : ""}">${own ? "Segno" : method}</text>
<rect x="${left}" y="${y}" width="${(x(error.median) - left).toFixed(1)}" height="20" rx="3" class="${own ? "bar own" : "bar"}"/>
<line x1="${x(error.median).toFixed(1)}" x2="${x(error.p99).toFixed(1)}" y1="${y + 10}" y2="${y + 10}" class="reach"/>
<text x="${(x(error.p99) + 6).toFixed(1)}" y="${y + 14}" class="small">${error.median < 1 ? error.median.toFixed(2) : Math.round(error.median)} %</text>`;
  });
  const ticks = [0.01, 0.1, 1, 10, 100, 1_000, 10_000].map(
    (tick) =>
      `<line x1="${x(tick).toFixed(1)}" x2="${x(tick).toFixed(1)}" y1="34" y2="${height - 16}" class="grid"/><text x="${x(tick).toFixed(1)}" y="26" text-anchor="middle" class="small">${tick} %</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="13">
<style>text{fill:#57606a}.own{fill:#1a7f37;font-weight:600}.bar{fill:#d0763c}.bar.own{fill:#1a7f37}.reach{stroke:#8c959f;stroke-width:2}.grid{stroke:#8c959f;stroke-opacity:.25}.small{font-size:11px}@media (prefers-color-scheme: dark){text{fill:#9198a1}.own{fill:#3fb950}.bar.own{fill:#3fb950}}</style>
<title>Error of the context reading before each call: median (bar) and 99th percentile (line), logarithmic</title>
${ticks.join("\n")}
${bars.join("\n")}
</svg>
`;
}

await throughput();

/** A transcript of 500 MB, as Claude Code writes them, against JSON.parse of the same lines alone. */
async function throughput() {
  const size = Number(process.env.METER_MB ?? 500) * 1024 * 1024;
  const file = join(scratch(), "large.jsonl");
  const handle = openSync(file, "w");
  let [written, n, prompt] = [0, 0, 20_000];
  const words =
    "const value = compute(input.items.map((item) => item.weight * 2)); // a line of code like many others\\n";
  while (written < size) {
    const parts = [];
    for (let many = 0; many < 200; many++, n++) {
      prompt = prompt > 160_000 ? 25_000 : prompt + 900;
      const usage = {
        input_tokens: 3,
        cache_read_input_tokens: prompt,
        cache_creation_input_tokens: 800,
        output_tokens: 240,
      };
      const base = {
        parentUuid: `u${n - 1}`,
        isSidechain: false,
        userType: "external",
        cwd: "/repo",
        sessionId: "s",
        version: "2.1.0",
        gitBranch: "main",
        timestamp: "2026-01-01T00:00:00.000Z",
      };
      const content = [{ type: "tool_use", id: `t${n}`, name: "Read", input: { file_path: `/repo/src/file-${n}.ts` } }];
      parts.push(
        JSON.stringify({
          ...base,
          type: "assistant",
          uuid: `a${n}`,
          message: {
            id: `m${n}`,
            type: "message",
            role: "assistant",
            model: "claude-opus-4-6",
            content,
            stop_reason: "tool_use",
            usage,
          },
        }),
      );
      const text = words.repeat(5 + (n % 40));
      const result = [{ tool_use_id: `t${n}`, type: "tool_result", content: text }];
      parts.push(
        JSON.stringify({
          ...base,
          type: "user",
          uuid: `u${n}`,
          message: { role: "user", content: result },
          toolUseResult: { type: "text", file: { filePath: `/repo/src/file-${n}.ts`, content: text } },
        }),
      );
    }
    written += writeSync(handle, `${parts.join("\n")}\n`);
  }
  closeSync(handle);
  const parse = `import { createReadStream } from "node:fs"; import { createInterface } from "node:readline";
    for await (const line of createInterface({ input: createReadStream(process.argv[1], { highWaterMark: 1 << 20 }) })) JSON.parse(line);`;
  const alone = await run(["--input-type=module", "-e", parse, file]);
  const ours = await run([SEGNO, "meter", file, "--json"]);
  report(`segno meter on a transcript of ${Math.round(statSync(file).size / 1024 / 1024)} MB`, [
    ["JSON.parse line by line", `${alone.seconds.toFixed(1)} s, ${alone.peak} MB at most`],
    ["segno meter", `${ours.seconds.toFixed(1)} s, ${(ours.seconds / alone.seconds).toFixed(2)} times`, "1.3 times"],
    ["its memory", `${ours.peak} MB at most`, "under 150 MB"],
  ]);
}

async function run(args) {
  const began = performance.now();
  const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] });
  let peak = 0;
  const timer = setInterval(() => {
    try {
      peak = Math.max(
        peak,
        Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1] ?? 0) / 1024,
      );
    } catch {}
  }, 50);
  await new Promise((resolve) => child.on("exit", resolve));
  clearInterval(timer);
  return { seconds: (performance.now() - began) / 1_000, peak: Math.round(peak) };
}
