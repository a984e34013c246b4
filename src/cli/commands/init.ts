import { existsSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { configurationFile } from "../../config/document.js";
import { writeWhole } from "../../store/atomic.js";
import { EXIT } from "../exit.js";
import { printFailure } from "../print-failure.js";
import { repositoryTop } from "../top.js";

export interface InitFlags {
  plan?: string;
  phases?: string;
  json?: boolean;
}

/** A configuration with every key commented, a master plan and phase files with blanks to fill. Nothing is overwritten. */
export async function initCommand(flags: InitFlags): Promise<number> {
  const json = flags.json === true;
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
    [".segno/config.yaml", configurationFile()],
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
    console.log(
      `\nFill the blanks (…), then:\n  segno audit ${name}.md\n  segno rehearse ${name}.md\n  segno run ${name}.md`,
    );
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
