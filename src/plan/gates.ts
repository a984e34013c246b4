/** Gates in a plan: what a person wrote, and what Segno will run. */
import type { ListItem, Nodes, Paragraph } from "mdast";
import { codesOf, descendantsOf, itemParagraph, itemsOf, lineOf, textOf } from "./markdown.js";
import type { Diagnostic, Gate, GateCheck, Place, PlanOptions } from "./model.js";

export interface GateReading {
  gates: Gate[];
  diagnostics: Diagnostic[];
}

/** `- tests: ALL tests pass (command: \`npm test\`)`, one per item. */
export function readGateItems(nodes: readonly Nodes[], file: string, options: PlanOptions): GateReading {
  const reading: GateReading = { gates: [], diagnostics: [] };
  for (const item of itemsOf(nodes)) {
    const paragraph = itemParagraph(item);
    if (paragraph === undefined) continue;
    const name = gateName(paragraph);
    const line = lineOf(item);
    const noDecrease = NO_DECREASE.test(textOf(paragraph));
    const manual = MANUAL.test(textOf(paragraph));
    const check = checkOf(name, codesOf(paragraph.children)[0], { noDecrease, manual }, options);
    if (check !== undefined) reading.gates.push({ id: `g${reading.gates.length + 1}`, name, check, file, line });
    else {
      reading.diagnostics.push({
        severity: "error",
        file,
        line,
        message: `The gate "${name}" has no command, so nobody can tell whether it passed.`,
        fix: `Write the command behind it: - ${name}: … (command: \`your command\`)\nor give it in .segno/config.yaml: gates: {${quoted(name)}: your command}\nor let a person judge it: - ${name}: … (manual)`,
      });
    }
  }
  return reading;
}

const quoted = (name: string): string => (/^\w+$/.test(name) ? name : JSON.stringify(name));

function gateName(paragraph: Paragraph): string {
  const text = textOf(paragraph).trim().split("\n")[0] ?? "";
  const name = text.includes(":") ? (text.split(":")[0] ?? "") : text;
  return (
    name
      .replace(MANUAL, "")
      .replace(/^\[[ x]\]\s*/i, "")
      .trim()
      .slice(0, 80) || "gate"
  );
}

/** "coverage: no decrease": judged by the number it prints, against what it printed before the first phase. */
const NO_DECREASE =
  /\b(no|not|never) (decrease|drop|fall|go down|regress)|must not (decrease|drop|fall|go down)|no decrease/i;

function checkOf(
  name: string,
  written: string | undefined,
  { noDecrease, manual }: { noDecrease: boolean; manual: boolean },
  { gates }: PlanOptions,
): GateCheck | undefined {
  const given = gates?.[name];
  if (given === "manual" || (given === undefined && written === undefined && manual)) return { type: "manual" };
  const command = given ?? written;
  if (command === undefined || command === "") return undefined;
  return noDecrease ? { type: "command", command, noDecrease: true } : { type: "command", command };
}

/** `- design: looks right (manual)`: a person judges it. */
const MANUAL = /\((?:manual|by hand|human)\b[^)]*\)/i;

const PRINTS = /returns?\s+(at least\s+|≥\s*|>=\s*)?(\d+)/i;

/** `… -- verified by: \`grep -c x f\` (returns at least 1)`: judged by the number the command prints. */
export function readCriterionGates(items: Iterable<ListItem>, file: string): Gate[] {
  const gates: Gate[] = [];
  for (const item of items) {
    const paragraph = itemParagraph(item);
    if (paragraph === undefined) continue;
    const parts = [...descendantsOf(paragraph.children)];
    const text = textOf(paragraph);
    const at = text.toLowerCase().lastIndexOf("verified by");
    if (at < 0) continue;
    // The command is the first code after the words, not one the criterion itself mentions.
    let passed = 0;
    const code = parts.find((part) => {
      if (!("value" in part)) return false;
      const from = passed;
      passed += part.value.length;
      return part.type === "inlineCode" && from >= at;
    });
    if (code?.type !== "inlineCode") continue;
    const number = PRINTS.exec(text.slice(text.indexOf(code.value, at) + code.value.length));
    const prints = number === null ? undefined : { atLeast: number[1] !== undefined, number: Number(number[2]) };
    const name =
      text
        .slice(0, at)
        .replace(/[\s\-–—:(]+$/, "")
        .trim()
        .slice(0, 120) || code.value;
    gates.push({
      id: `g${gates.length + 1}`,
      name,
      check: { type: "command", command: code.value.trim(), prints },
      file,
      line: lineOf(item),
    });
  }
  return gates;
}

/** Commands in a list or a code block under `## Validation Commands`, gates of every phase. */
export function readCommandList(nodes: readonly Nodes[], file: string): Gate[] {
  const gates: Gate[] = [];
  const add = (command: string, line: number) => {
    if (command !== "")
      gates.push({
        id: `v${gates.length + 1}`,
        name: command.slice(0, 60),
        check: { type: "command", command },
        file,
        line,
      });
  };
  for (const node of nodes) {
    if (node.type === "code") {
      for (const [index, line] of node.value.split("\n").entries())
        if (!line.trim().startsWith("#")) add(line.trim(), lineOf(node) + 1 + index);
    }
    for (const item of itemsOf([node])) {
      const paragraph = itemParagraph(item);
      if (paragraph === undefined) continue;
      add(codesOf(paragraph.children)[0] ?? textOf(paragraph).trim(), lineOf(item));
    }
  }
  return gates;
}

/** The gate that a test command named in the plan or the configuration is for every phase. */
export const testGate = (command: string, file: string, line: number): Gate => ({
  id: "test",
  name: "tests",
  check: { type: "command", command },
  file,
  line,
});

/** One of the project's own checks. */
export const projectGate = (n: number, name: string, command: string, place: Place): Gate => ({
  id: `project-${n}`,
  name,
  check: { type: "command", command },
  ...place,
});

const NEVER_FAILS = /^(true|:|exit 0|echo\b[^|&;]*)$|\|\|\s*(true|:|exit 0)\s*$/;

export const cannotFail = (command: string): boolean => NEVER_FAILS.test(command.trim());
