import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { readDebussy } from "../../config/debussy.js";
import { configurationFile } from "../../config/document.js";
import { writeWhole } from "../../store/atomic.js";
import { EXIT } from "../exit.js";
import { printFailure } from "../print-failure.js";
import { repositoryTop } from "../top.js";

export interface InitFlags {
  plan?: string;
  phases?: string;
  fromDebussy?: boolean;
  json?: boolean;
}

/** A configuration with every key commented, a master plan and phase files with blanks to fill. Nothing is overwritten. */
export async function initCommand(flags: InitFlags): Promise<number> {
  const json = flags.json === true;
  if (flags.fromDebussy === true) return takeOverDebussy(json);
  const phases = Number(flags.phases ?? 3);
  if (!Number.isInteger(phases) || phases < 1 || phases > 99) {
    return printFailure(
      { type: "usage", what: `--phases is ${flags.phases}.`, fix: "Give a whole number from 1 to 99." },
      json,
    );
  }
  const name = (flags.plan ?? "PLAN").replace(/\.md$/i, "");
  if (!/^[\w][\w.-]*$/.test(name)) {
    return printFailure(
      { type: "usage", what: `--plan is "${flags.plan}".`, fix: "Give a plain name, like PLAN or my-feature." },
      json,
    );
  }
  const top = await repositoryTop();
  if (!top.ok) return printFailure(top.failure, json);
  const folder = name.toLowerCase();
  const files: [string, string][] = [
    [CONFIG, configurationFile()],
    [`${name}.md`, masterPlan(folder, phases)],
    ...Array.from({ length: phases }, (_, index): [string, string] => [
      `${folder}/phase-${index + 1}.md`,
      phaseFile(index + 1),
    ]),
  ];
  const written = files.filter(([path]) => !existsSync(join(top.value, path)));
  for (const [path, content] of written) {
    mkdirSync(dirname(join(top.value, path)), { recursive: true });
    writeWhole(join(top.value, path), content);
  }
  const kept = files.filter((file) => !written.includes(file)).map(([path]) => path);
  if (json) console.log(JSON.stringify({ written: written.map(([path]) => path), kept }));
  else {
    for (const [path] of written) console.log(`written  ${path}`);
    for (const path of kept) console.log(`kept     ${path} (it was there already)`);
    if (hasDebussy(top.value) && written.some(([path]) => path === CONFIG))
      console.log(`\n${DEBUSSY} is there: delete ${CONFIG}, and segno init --from-debussy takes its keys over.`);
    console.log(
      `\nFill the blanks (…), then:\n  segno audit ${name}.md\n  segno rehearse ${name}.md\n  segno run ${name}.md`,
    );
  }
  return EXIT.done;
}

const CONFIG = ".segno/config.yaml";
export const DEBUSSY = ".debussy/config.yaml";

export const hasDebussy = (top: string): boolean => existsSync(join(top, DEBUSSY));

/** The keys of another tool's configuration, each with its line; what means nothing here is said. */
async function takeOverDebussy(json: boolean): Promise<number> {
  const top = await repositoryTop();
  if (!top.ok) return printFailure(top.failure, json);
  const usage = (what: string, fix: string) => printFailure({ type: "usage", what, fix }, json);
  if (!hasDebussy(top.value))
    return usage(`There is no ${DEBUSSY} in this repository.`, "segno init writes a new one.");
  const keys = readDebussy(readFileSync(join(top.value, DEBUSSY), "utf8"));
  if (keys === undefined) return usage(`${DEBUSSY} is not valid YAML.`, "Correct it, or write a new one: segno init.");
  if (existsSync(join(top.value, CONFIG)))
    return usage(
      `${CONFIG} is there already, and is not overwritten.`,
      `Set what you want of the other: ${keys.flatMap(({ ours }) => (ours === undefined ? [] : [`segno config set ${ours.key} ${JSON.stringify(ours.value)}`])).join("; ") || "it has nothing that means something here"}.`,
    );
  const taken = keys.flatMap(({ line, ours }) =>
    ours === undefined ? [] : [`# ${DEBUSSY}:${line}\n${ours.key}: ${JSON.stringify(ours.value)}\n`],
  );
  mkdirSync(dirname(join(top.value, CONFIG)), { recursive: true });
  writeWhole(join(top.value, CONFIG), `${taken.join("\n")}\n${configurationFile()}`);
  if (json) console.log(JSON.stringify({ written: [CONFIG], keys }));
  else {
    for (const { line, key, value, ours } of keys) {
      const here = ours === undefined ? "means nothing here, left out" : `${ours.key}: ${JSON.stringify(ours.value)}`;
      console.log(`${DEBUSSY}:${line}  ${key}: ${JSON.stringify(value)}  →  ${here}`);
    }
    console.log(`\nwritten  ${CONFIG}\n\nsegno config shows what counts.`);
  }
  return EXIT.done;
}

function masterPlan(folder: string, phases: number): string {
  const rows = Array.from(
    { length: phases },
    (_, index) => `| ${index + 1} | [Phase ${index + 1}](${folder}/phase-${index + 1}.md) | … | Pending |`,
  );
  return `# …: the plan\n\n## Overview\n\n…\n\n## Phases\n\n| Phase | Title | Focus | Status |\n|-------|-------|-------|--------|\n${rows.join("\n")}\n`;
}

/** The gate has no command yet, so the audit says what to fill in. */
function phaseFile(n: number): string {
  const depends = n === 1 ? "None" : `[Phase ${n - 1}](phase-${n - 1}.md)`;
  return `# Phase ${n}: …

**Status:** Pending
**Depends On:** ${depends}

## Overview

…

## Gates

- tests: all tests pass (command: …)

## Tasks

- [ ] ${n}.1: …
- [ ] ${n}.2: …

## Acceptance Criteria

- …
`;
}
