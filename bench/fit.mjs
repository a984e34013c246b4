// Fits the meter's characters per token on two thirds of 501 public sessions (numbers only: bench/data). The other third
// is held out: `npm run bench meter` shows the error there. Prints what `src/context/ratios.ts` holds.
import { rowsOf } from "./growth.mjs";

const KINDS = ["user", "read", "bash", "grep", "edit", "agent", "web", "mcp", "othertool", "attach", "meta", "summary"];
const later = (model) => {
  const [, major = "0", minor = "0"] = /-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/.exec(model) ?? [];
  return Number(major) + Number(minor) / 10 > 4.65;
};

/** What an answer is made of; counted only where the client wrote down a placeholder instead of its size. */
const SAID = ["text_chars", "thinking_chars", "tool_input_chars", "tool_calls"];

/** What was appended before each call of a session, and what it weighed. */
function samples(isLater) {
  const found = [];
  let before;
  for (const row of rowsOf()) {
    const follows = before !== undefined && before.session === row.session && before.model === row.model;
    const known = follows && before.output_is_final;
    const weighed = follows ? row.prompt_tokens - before.prompt_tokens - (known ? before.output_tokens : 0) : 0;
    // Images weigh what nobody can see in characters.
    if (weighed > 0 && !row.held && !row.compacted && row.before_images === 0 && later(row.model) === isLater) {
      const sizes = [
        ...KINDS.map((kind) => row[`before_${kind}_chars`]),
        row.before_tool_results,
        ...SAID.map((part) => (known ? 0 : before[`assistant_${part}`])),
      ];
      if (sizes.some((size) => size > 0)) found.push({ sizes, weighed });
    }
    before = row;
  }
  return found;
}

/** Least absolute deviations, by weighing squares again and again; every kind is drawn towards what all have together. */
function fitted(all) {
  const n = KINDS.length + 1 + SAID.length;
  let weights = all.map(() => 1);
  let solution = [...KINDS.map(() => 1 / 3), 30, 1 / 3, 1 / 3, 1 / 3, 60];
  for (let round = 0; round < 30; round++) {
    const common = solution.slice(0, KINDS.length).reduce((sum, value) => sum + value, 0) / KINDS.length;
    const matrix = Array.from({ length: n }, () => new Float64Array(n + 1));
    for (const [at, { sizes, weighed }] of all.entries()) {
      const weight = weights[at];
      for (let i = 0; i < n; i++) {
        if (sizes[i] === 0) continue;
        for (let j = 0; j < n; j++) matrix[i][j] += weight * sizes[i] * sizes[j];
        matrix[i][n] += weight * sizes[i] * weighed;
      }
    }
    const pull = (all.length * 2_000) / 100;
    for (let i = 0; i < KINDS.length; i++) {
      matrix[i][i] += pull;
      matrix[i][n] += pull * common;
    }
    for (let i = KINDS.length; i < n; i++) matrix[i][i] += 1e-6;
    solution = solve(matrix);
    weights = all.map(({ sizes, weighed }) => {
      const guess = sizes.reduce((sum, size, i) => sum + size * solution[i], 0);
      return 1 / Math.max(4, Math.abs(guess - weighed));
    });
  }
  return solution;
}

function solve(matrix) {
  const n = matrix.length;
  for (let i = 0; i < n; i++) {
    const pivot = matrix
      .slice(i)
      .reduce((best, row, k) => (Math.abs(row[i]) > Math.abs(matrix[best][i]) ? k + i : best), i);
    [matrix[i], matrix[pivot]] = [matrix[pivot], matrix[i]];
    for (let k = 0; k < n; k++) {
      if (k === i) continue;
      const factor = matrix[k][i] / matrix[i][i];
      for (let j = i; j <= n; j++) matrix[k][j] -= factor * matrix[i][j];
    }
  }
  return matrix.map((row, i) => row[n] / row[i]);
}

for (const [name, isLater] of [
  ["models up to 4.6", false],
  ["later ones", true],
]) {
  const all = samples(isLater);
  const solution = fitted(all);
  console.log(`\n${name}: ${all.length} calls`);
  for (const [at, kind] of KINDS.entries()) {
    const seen = all.filter(({ sizes }) => sizes[at] > 0).length;
    console.log(`  ${kind.padEnd(10)} ${(1 / solution[at]).toFixed(2)} characters per token (${seen} calls)`);
  }
  const [framing, text, thinking, toolInput, perToolCall] = solution.slice(KINDS.length);
  console.log(`  a tool result's framing: ${framing.toFixed(0)} tokens`);
  console.log(
    `  answers: text ${(1 / text).toFixed(2)}, thinking ${(1 / thinking).toFixed(2)}, tool input ${(1 / toolInput).toFixed(2)}, per call ${perToolCall.toFixed(0)}`,
  );
}
