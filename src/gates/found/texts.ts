/** Commands that workflows and texts name: shown to the user, and never run because they stand there. */
import { isMap, isScalar, isSeq, parseAllDocuments } from "yaml";
import { type FoundCheck, lineOf, type ProjectFiles } from "./check.js";

const CHECKS =
  /\b(tests?|spec|lint|check|typecheck|type-check|tsc|mypy|ruff|pytest|vet|clippy|build|verify|eslint|biome)\b/i;
/** What only prepares, or is no command by itself. */
const NOT_CHECKS =
  /^(#|echo\b|cd\b|export\b|if\b|fi$|for\b|done$|sudo\b|apt(-get)?\b|pip3? install|npm (ci|install|publish)|pnpm install|yarn( install)?$|git\b|docker push|curl\b|wget\b)|\$\{\{|<<|\\$/;

/** Steps of CI workflows. */
export function inWorkflows(files: ProjectFiles): FoundCheck[] {
  const workflows = files.list(".github/workflows").filter((path) => /\.ya?ml$/.test(path));
  return [...workflows, ".gitlab-ci.yml"].flatMap((path) => {
    const source = files.read(path);
    if (source === undefined) return [];
    return commandsIn(source).map(({ command, line }) => ({
      name: "ci",
      command,
      where: `${path}:${line}`,
      safe: false,
    }));
  });
}

function commandsIn(source: string): { command: string; line: number }[] {
  const found: { command: string; line: number }[] = [];
  const take = (text: string): void => {
    for (const line of text.split("\n").map((each) => each.trim()))
      if (line !== "" && CHECKS.test(line) && !NOT_CHECKS.test(line))
        found.push({ command: line, line: lineOf(source, new RegExp(escaped(line))) });
  };
  const walk = (node: unknown, key: string): void => {
    if (isMap(node)) for (const pair of node.items) walk(pair.value, isScalar(pair.key) ? String(pair.key.value) : "");
    else if (isSeq(node)) for (const item of node.items) walk(item, key);
    else if (isScalar(node) && (key === "run" || key === "script") && typeof node.value === "string") take(node.value);
  };
  try {
    for (const document of parseAllDocuments(source)) if ("contents" in document) walk(document.contents, "");
  } catch {
    // No YAML that could be read: then nothing is found there.
  }
  return found;
}

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");

const SAID = /(?:^|\n)[^\n`]*?\b(?:Run|Verify with|Verify by running|Test with|Check with)\b\s*:?\**:?\s*`([^`\n]+)`/gi;

/** "Run: `cmd`", "Verify with `cmd`" in the plan's own words, and in what stands beside it. */
export function inWords(texts: readonly { file: string; text: string }[]): FoundCheck[] {
  return texts.flatMap(({ file, text }) =>
    [...text.matchAll(SAID)].flatMap(({ 1: command = "", index, 0: whole }) => {
      const line = text.slice(0, index + whole.length).split("\n").length;
      return /\s/.test(command.trim())
        ? [{ name: "said", command: command.trim(), where: `${file}:${line}`, safe: false }]
        : [];
    }),
  );
}
