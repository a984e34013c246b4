// One plan, ten and a hundred in one `segno audit`: what each adds beyond the start.
import { spawnSync } from "node:child_process";
import { median, repository, SEGNO, table, timed } from "./measure.mjs";

const PLANS = 100;
const phase = (n) =>
  `## ${n}. Part ${n}\n\nWhat it is about, in a line or two of text.\n\n${[1, 2, 3, 4, 5].map((k) => `- [ ] ${n}.${k} Change \`src/part-${n}/file-${k}.ts\` and its test`).join("\n")}\n`;
const plan = (id) => `# Plan ${id}\n\nSome words about it.\n\n${[1, 2, 3, 4, 5, 6].map(phase).join("\n")}`;
const files = Object.fromEntries(Array.from({ length: PLANS }, (_, n) => [`plans/${n}.md`, plan(n)]));
const cwd = repository(files);
const names = Object.keys(files);

const took = (count) =>
  median(
    Array.from({ length: 7 }, () =>
      timed(() => {
        const { status } = spawnSync(process.execPath, [SEGNO, "audit", ...names.slice(0, count), "--json"], { cwd });
        if (status !== 0) throw new Error(`audit ended with ${status}`);
      }),
    ),
  );

const one = took(1);
const rows = [10, PLANS].map((count) => {
  const all = took(count);
  return [String(count), all.toFixed(0), ((all - one) / (count - 1)).toFixed(1)];
});
console.log("\naudit of several plans in one process, 30 tasks each (aim: under 10 ms a plan, linear)");
console.log(table(["plans", "ms", "ms a plan beyond the first"], [["1", one.toFixed(0), ""], ...rows]));
