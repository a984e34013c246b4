/** One phase file of the master-plan form: `# Phase 6: Title`, fields, Gates, Tasks. */
import type { ListItem, Root } from "mdast";
import { type Field, fieldsOf, findField } from "../fields.js";
import {
  descendantsOf,
  endOf,
  itemParagraph,
  itemsOf,
  lineOf,
  parseMarkdown,
  preambleOf,
  sectionsOf,
  startOf,
  textOf,
} from "../markdown.js";
import type { Diagnostic, Gate, Task } from "../model.js";
import { meansDone } from "../statuses.js";

export interface PhaseFile {
  id: string | undefined;
  title: string;
  status: Field | undefined;
  markedDone: boolean;
  dependsOn: Field | undefined;
  tasks: (Task & { item: ListItem })[];
  gates: Gate[];
  diagnostics: Diagnostic[];
}

const TITLE = /\bPhase\s+([A-Za-z0-9][\w.]*)\s*[:—–-]\s*(.+)$/i;

export function readPhaseFile(source: string, file: string): PhaseFile {
  const root = parseMarkdown(source);
  const heading = root.children.find((node) => node.type === "heading" && node.depth === 1);
  const headingText = heading === undefined ? "" : textOf(heading).trim();
  const match = TITLE.exec(headingText);
  const fields = fieldsOf(preambleOf(root), source);
  const status = findField(fields, "Status");
  const diagnostics: Diagnostic[] = [];
  return {
    id: match?.[1],
    title: match?.[2]?.trim() ?? headingText,
    status,
    markedDone: status !== undefined && meansDone(status.value),
    dependsOn: findField(fields, "Depends On"),
    tasks: readTasks(root, source, file),
    gates: readGates(root, file, diagnostics),
    diagnostics,
  };
}

/** Checkbox items under a heading named Tasks, and nowhere else: a process wrapper's or an acceptance box is no task. */
function readTasks(root: Root, source: string, file: string): PhaseFile["tasks"] {
  const tasks: PhaseFile["tasks"] = [];
  const taken = new Set<string>();
  let group = "";
  for (const section of sectionsOf(root)) {
    if (!/^tasks\b/i.test(section.title)) continue;
    for (const node of section.content) {
      if (node.type === "heading")
        group = /^(?:Sub-Phase\s+)?([\w.]+?)\.?(?::|\s|$)/i.exec(textOf(node).trim())?.[1] ?? "";
      for (const item of itemsOf([node])) {
        if (typeof item.checked !== "boolean") continue;
        const paragraph = itemParagraph(item);
        // The title keeps its Markdown: a path in backticks means more to an agent than a bare word.
        const raw = paragraph === undefined ? "" : source.slice(startOf(paragraph), endOf(paragraph));
        const text = (raw.split(/\r?\n/)[0] ?? "").trim().replace(/:$/, "");
        const explicit = /^([A-Za-z0-9]+(?:\.[A-Za-z0-9]+)+|\d+)\s*[:.)]\s+(.+)$/.exec(text);
        let id = explicit?.[1] ?? nextId(group, taken);
        if (taken.has(id)) id = nextId(id, taken);
        taken.add(id);
        tasks.push({ id, title: explicit?.[2] ?? text, ticked: item.checked, file, line: lineOf(item), item });
      }
    }
  }
  return tasks;
}

function nextId(group: string, taken: ReadonlySet<string>): string {
  for (let n = 1; ; n++) {
    const id = group === "" ? `t${n}` : `${group}.${n}`;
    if (!taken.has(id)) return id;
  }
}

/** `- tests: ALL tests pass (command: \`npm test\`)` under a heading named Gates. */
function readGates(root: Root, file: string, diagnostics: Diagnostic[]): Gate[] {
  const gates: Gate[] = [];
  for (const section of sectionsOf(root)) {
    if (!/^gates\b/i.test(section.title)) continue;
    for (const item of itemsOf(section.content)) {
      const paragraph = itemParagraph(item);
      if (paragraph === undefined) continue;
      const text = textOf(paragraph).trim();
      const name = text.split(":")[0]?.trim() ?? text;
      const command = [...descendantsOf(paragraph.children)].find((node) => node.type === "inlineCode");
      const line = lineOf(item);
      if (command?.type === "inlineCode" && command.value.trim() !== "") {
        gates.push({ id: `g${gates.length + 1}`, name, command: command.value.trim(), file, line });
      } else {
        diagnostics.push({
          severity: "error",
          file,
          line,
          message: `The gate "${name}" has no command, so nobody can tell whether it passed.`,
          fix: `Write the command behind it: - ${name}: … (command: \`your command\`)`,
        });
      }
    }
  }
  return gates;
}
