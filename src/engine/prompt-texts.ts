/** `.segno/prompts/NAME.md` in place of Segno's own prompt texts. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  DEFAULT_TEXTS,
  type PromptTexts,
  TEMPLATE_NAMES,
  type TemplateName,
  templateProblems,
} from "../handover/templates.js";
import { bad, type ConfigProblem, good, type Result } from "./failure.js";
import { segnoFolder } from "./runs.js";

export function readPromptTexts(top: string): Result<PromptTexts> {
  const folder = join(segnoFolder(top), "prompts");
  if (!existsSync(folder)) return good(DEFAULT_TEXTS);
  const texts: Record<string, string> = { ...DEFAULT_TEXTS };
  const problems: ConfigProblem[] = [];
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".md"))) {
    const name = file.slice(0, -3);
    const path = `.segno/prompts/${file}`;
    if (!isTemplate(name)) {
      const message = `There is no prompt named ${name}.`;
      problems.push({ file: path, line: 1, column: 1, message, fix: `Prompts: ${TEMPLATE_NAMES.join(", ")}.` });
      continue;
    }
    const text = readFileSync(join(folder, file), "utf8");
    problems.push(...templateProblems(name, text).map((problem) => ({ file: path, ...problem })));
    texts[name] = text;
  }
  return problems.length > 0 ? bad({ type: "config", problems }) : good(texts as PromptTexts);
}

const isTemplate = (name: string): name is TemplateName => (TEMPLATE_NAMES as string[]).includes(name);
