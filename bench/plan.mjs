// Reading a plan of 1,000 phases and 20,000 tasks, against the Markdown library's parse of the same text, and against a
// tenth of it.
import { parseMarkdown } from "../build/plan/markdown.js";
import { parsePlan } from "../build/plan/parse.js";
import { best, report } from "./measure.mjs";

const document = (phases) =>
  `# Plan\n\n**Test Command:** \`npm test\`\n\n${Array.from({ length: phases }, (_, n) => {
    const tasks = Array.from(
      { length: 20 },
      (__, m) => `- [ ] ${n + 1}.${m + 1}: Create \`src/part-${n}-${m}.ts\` and test it`,
    );
    return `### Phase ${n + 1}: Part ${n + 1}\n\n**Status:** Pending\n**Depends On:** ${n === 0 ? "None" : `Phase ${n}`}\n\nSome words about what this part is for.\n\n${tasks.join("\n")}\n`;
  }).join("\n")}`;

const [large, small] = [document(1_000), document(100)];
const parsed = parsePlan("PLAN.md", () => large);
const tasks = parsed.plan.phases.reduce((sum, phase) => sum + phase.tasks.length, 0);
const library = best(3, () => parseMarkdown(large));
const whole = best(3, () => parsePlan("PLAN.md", () => large));
const tenth = best(5, () => parsePlan("PLAN.md", () => small));
report(`a plan of ${parsed.plan.phases.length} phases and ${tasks} tasks`, [
  ["the Markdown library alone", `${library.toFixed(0)} ms`],
  ["segno", `${whole.toFixed(0)} ms, ${(whole / library).toFixed(2)} times`, "1.3 times"],
  ["a tenth of it", `${tenth.toFixed(0)} ms, ${(whole / tenth).toFixed(1)} times less`, "10 times"],
]);
