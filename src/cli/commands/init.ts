import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { agentEntry, agentNames } from "../../agents/registry.js";
import { readDebussy } from "../../config/debussy.js";
import { configurationFile, type SetKey } from "../../config/document.js";
import { findPlan } from "../../engine/find-plan.js";
import { BLANK } from "../../plan/blank.js";
import { readDocument } from "../../plan/document.js";
import { outlineOf } from "../../plan/free-text.js";
import type { Outline } from "../../plan/model.js";
import { blankOutline, newPlan } from "../../plan/new-plan.js";
import { withoutBom } from "../../plan/parse.js";
import { writeWhole } from "../../store/atomic.js";
import { askChoice, isTerminal, YES_NO } from "../ask.js";
import { chooseSettings } from "../choose-settings.js";
import { EXIT } from "../exit.js";
import { MODES } from "../permission.js";
import { printFailure } from "../print-failure.js";
import { repositoryTop } from "../top.js";

export interface InitFlags {
  plan?: string;
  phases?: string;
  from?: string;
  agent?: string;
  permissionMode?: string;
  gates?: boolean;
  yes?: boolean;
  fromDebussy?: boolean;
  json?: boolean;
}

/** What is asked at a terminal, given as flags, or taken as it usually is: nothing is overwritten. */
export async function initCommand(flags: InitFlags): Promise<number> {
  const json = flags.json === true;
  const fail = (what: string, fix: string): number => printFailure({ type: "usage", what, fix }, json);
  if (flags.fromDebussy === true) return takeOverDebussy(json);
  const phases = Number(flags.phases ?? 3);
  if (!Number.isInteger(phases) || phases < 1 || phases > 99)
    return fail(`--phases is ${flags.phases}.`, "Give a whole number from 1 to 99.");
  const name = (flags.plan ?? "PLAN").replace(/\.md$/i, "");
  if (!/^[\w][\w.-]*$/.test(name))
    return fail(`--plan is "${flags.plan}".`, "Give a plain name, like PLAN or my-feature.");
  const mode = MODES.find((each) => each.name === flags.permissionMode)?.name;
  if (flags.permissionMode !== undefined && mode === undefined)
    return fail(
      `--permission-mode is "${flags.permissionMode}".`,
      `One of:\n${MODES.map((each) => `  ${each.name}  ${each.meaning}`).join("\n")}`,
    );
  if (flags.agent !== undefined && agentEntry(flags.agent) === undefined)
    return printFailure({ type: "unknown-agent", agent: flags.agent, known: agentNames() }, json);
  const top = await repositoryTop();
  if (!top.ok) return printFailure(top.failure, json);
  const given = flags.from === undefined ? undefined : await outlineFrom(flags.from, top.value);
  if (given !== undefined && "problem" in given) return fail(given.problem, given.fix);
  const there = given === undefined && flags.plan === undefined ? await plansThere(top.value) : [];
  const planned = there.length > 0 ? [] : newPlan(name, given ?? blankOutline(phases), []);
  const taken = planned.map(([path]) => path).find((path) => existsSync(join(top.value, path)));
  if (given !== undefined && taken !== undefined)
    return fail(
      `${taken} is there already, and is not overwritten.`,
      `Name the plan: segno init --from ${flags.from} --plan ${freeName(top.value, name)}`,
    );
  const config = existsSync(join(top.value, CONFIG)) ? readFileSync(join(top.value, CONFIG), "utf8") : undefined;
  const hasConfig = config !== undefined;
  let debussy: DebussyKeys = [];
  const asks = isTerminal(json) && flags.yes !== true && !hasConfig;
  if (asks && hasDebussy(top.value)) {
    const answer = await askChoice(`${DEBUSSY} is there. Take its keys over?`, YES_NO);
    if (answer === undefined) return EXIT.interrupted;
    if (answer === "yes") {
      const keys = debussyKeys(top.value);
      if (keys === undefined) return fail(...NOT_YAML);
      printKeys(keys);
      debussy = keys;
    }
  }
  const choices = await chooseSettings(top.value, there[0], {
    agent: flags.agent,
    mode,
    gates: flags.gates !== false,
    asks,
  });
  // Whoever ends a question wants nothing of it.
  if (choices === undefined) return EXIT.interrupted;
  const blank = choices.gates.length === 0 && given === undefined ? [{ name: "tests", command: BLANK }] : [];
  const files: [string, string][] = [
    [CONFIG, withDebussy(debussy, choices.keys)],
    ...(there.length > 0 ? [] : newPlan(name, given ?? blankOutline(phases), blank)),
  ];
  const written = files.filter(([path]) => !existsSync(join(top.value, path)));
  for (const [path, content] of written) {
    mkdirSync(dirname(join(top.value, path)), { recursive: true });
    writeWhole(join(top.value, path), content);
  }
  const kept = files.filter((file) => !written.includes(file)).map(([path]) => path);
  const [only, ...others] = there;
  const plan = only ?? `${name}.md`;
  const next = only === undefined && given === undefined ? "audit" : "rehearse";
  const isSet = (key: string): boolean => new RegExp(`^${key}:`, "m").test(config ?? "");
  const unset = hasConfig
    ? choices.keys.filter(({ key }) => (key !== "project_gates" || flags.gates === true) && !isSet(key))
    : [];
  if (json) {
    const paths = written.map(([path]) => path);
    const gates = hasConfig ? [] : choices.gates;
    console.log(JSON.stringify({ written: paths, kept, plan, plans: there, gates, next: `segno ${next} ${plan}` }));
    return EXIT.done;
  }
  for (const [path] of written) console.log(`written  ${path}`);
  for (const path of kept) console.log(`kept     ${path} (it was there already, and is as it was)`);
  if (given !== undefined) console.log(`taken    ${countOf(given)}`);
  for (const path of there) console.log(`plan     ${path} is there, and is read as it stands`);
  if (!hasConfig) for (const { command, where } of choices.gates) console.log(`gate     ${command} (${where})`);
  for (const { key, value } of unset) console.log(`not set  segno config set ${key} '${JSON.stringify(value)}'`);
  if (others.length > 0) console.log(`\nName the plan you mean: segno rehearse ${plan}`);
  else {
    const first =
      next === "audit"
        ? `Fill the blanks (${BLANK}) in ${plan} and the files it names, then:\n  segno audit ${plan}`
        : "Next:";
    console.log(`\n${first}\n  segno rehearse ${plan}   no key, no cost\n  segno run ${plan}`);
  }
  return EXIT.done;
}

const countOf = ({ phases }: Outline): string =>
  `${phases.length} headings as phases, ${phases.reduce((sum, { tasks }) => sum + tasks.length, 0)} bullets as tasks; look at what was left: segno audit`;

function freeName(top: string, name: string): string {
  for (let n = 2; ; n++) if (!existsSync(join(top, `${name}-${n}.md`))) return `${name}-${n}`;
}

/** Headings and bullets, or an issue's checklist, from a file or from standard input. */
async function outlineFrom(from: string, top: string): Promise<Outline | { problem: string; fix: string }> {
  // Messages name files from the top level; people from where they are.
  const path =
    from === "-" ? undefined : [resolve(process.cwd(), from), join(top, from)].find((each) => existsSync(each));
  const fix = "Check the path, or pass - and pipe the text in.";
  if (from !== "-" && path === undefined) return { problem: `There is no file ${from}.`, fix };
  if (path !== undefined && !statSync(path).isFile()) return { problem: `${from} is not a file.`, fix };
  const source = path === undefined ? await text(process.stdin) : readFileSync(path, "utf8");
  const outline = outlineOf(readDocument(from === "-" ? "Plan" : basename(from), withoutBom(source)));
  return (
    outline ?? {
      problem: `${from === "-" ? "What was piped in" : from} has no headings with bullets, and no list.`,
      fix: "Write what is to be done as bullets under headings: a heading becomes a phase, a bullet a task.",
    }
  );
}

/** Plans that are there already. */
async function plansThere(top: string): Promise<string[]> {
  const found = await findPlan(top, top, undefined, {});
  if (found.ok) return [found.value];
  return found.failure.type === "which-plan" ? found.failure.candidates : [];
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
  const keys = debussyKeys(top.value);
  if (keys === undefined) return usage(...NOT_YAML);
  if (existsSync(join(top.value, CONFIG)))
    return usage(
      `${CONFIG} is there already, and is not overwritten.`,
      `Set what you want of the other: ${keys.flatMap(({ ours }) => (ours === undefined ? [] : [`segno config set ${ours.key} ${JSON.stringify(ours.value)}`])).join("; ") || "it has nothing that means something here"}.`,
    );
  mkdirSync(dirname(join(top.value, CONFIG)), { recursive: true });
  writeWhole(join(top.value, CONFIG), withDebussy(keys, []));
  if (json) console.log(JSON.stringify({ written: [CONFIG], keys }));
  else {
    printKeys(keys);
    console.log(
      `\nwritten  ${CONFIG}\n\nsegno config shows what counts. Next: segno init asks for the rest, or segno audit`,
    );
  }
  return EXIT.done;
}

type DebussyKeys = NonNullable<ReturnType<typeof readDebussy>>;

const NOT_YAML = [`${DEBUSSY} is not valid YAML.`, "Correct it, or write a new one: segno init."] as const;

const debussyKeys = (top: string): DebussyKeys | undefined => readDebussy(readFileSync(join(top, DEBUSSY), "utf8"));

function printKeys(keys: DebussyKeys): void {
  for (const { line, key, value, ours } of keys) {
    const here = ours === undefined ? "means nothing here, left out" : `${ours.key}: ${JSON.stringify(ours.value)}`;
    console.log(`${DEBUSSY}:${line}  ${key}: ${JSON.stringify(value)}  →  ${here}`);
  }
}

/** The configuration with the other tool's keys above, each with its line; what was chosen now counts instead of them. */
function withDebussy(keys: DebussyKeys, chosen: readonly SetKey[]): string {
  const taken = keys.flatMap(({ line, ours }) =>
    ours === undefined || chosen.some(({ key }) => key === ours.key)
      ? []
      : [`# ${DEBUSSY}:${line}\n${ours.key}: ${JSON.stringify(ours.value)}\n`],
  );
  return `${taken.length === 0 ? "" : `${taken.join("\n")}\n`}${configurationFile([...chosen])}`;
}
