/** Which file is meant: the plan that is named, the one in a folder, or, where none is named, the only one there is. */
import { statSync } from "node:fs";
import { relative, resolve } from "node:path";
import { Git } from "../git/git.js";
import { isDone, type Plan, type PlanOptions, type ReadPlanFile } from "../plan/model.js";
import { parsePlan } from "../plan/parse.js";
import { bad, good, type Result } from "./failure.js";
import { isInside, planFiles } from "./plan-files.js";

/** What other tools call the one file that counts in a folder, and what `segno init` writes. */
const NAMED = ["tasks.md", "tasks/tasks.json", "tasks.json", "sprint-status.yaml", "PLAN.md"];
/** Files that never are plans. */
const NEVER =
  /(^|\/)(README|CHANGELOG|CONTRIBUTING|LICENSE|CODE_OF_CONDUCT|SECURITY|CLAUDE|AGENTS|GEMINI|HANDOFF|CHECKPOINT|RELEAS\w*|PULL_REQUEST_TEMPLATE|ISSUE_TEMPLATE|CODEOWNERS|MAINTAINERS|GOVERNANCE)\b[^/]*$/i;
/** Where plans lie in a repository that has one. */
const PLACES = [
  /^[^/]+\.md$/,
  /^(docs\/)?(superpowers\/)?plans?\/[^/]+\.md$/,
  /^docs\/superpowers\/plans\/[^/]+\.md$/,
  /^\.kiro\/specs\/[^/]+\/tasks\.md$/,
  /^specs\/[^/]+\/tasks\.md$/,
  /^openspec\/changes\/(?!archive\/)[^/]+\/tasks\.md$/,
  /^\.taskmaster\/tasks\/tasks\.json$/,
  /(^|\/)sprint-status\.yaml$/,
];

/** A path below `top`. `given`: as the user typed it, from where they are. */
export async function findPlan(
  top: string,
  cwd: string,
  given: string | undefined,
  options: PlanOptions,
): Promise<Result<string>> {
  const { read } = planFiles(top);
  if (given === undefined) return onlyPlan(read, options, await filesOf(top));
  const path = resolve(cwd, given);
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  if (path !== top && !isInside(top, path)) return bad({ type: "plan-outside", file: given, top });
  if (!isFolder) return good(relative(top, path));
  return planIn(relative(top, path), read, options, given, await filesOf(top));
}

/** All that git knows or would know. */
async function filesOf(top: string): Promise<string[]> {
  const listed = await new Git(top).attempt(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
  return listed.ok ? [...new Set(listed.stdout.split("\0"))].sort() : [];
}

function planIn(
  folder: string,
  read: ReadPlanFile,
  options: PlanOptions,
  given: string,
  all: readonly string[],
): Result<string> {
  const below = folder === "" ? "" : `${folder}/`;
  const named = NAMED.map((name) => below + name).find((path) => typeof read(path) === "string");
  if (named !== undefined) return good(named);
  const files = read.list?.(folder) ?? [];
  const depth = (path: string): number => path.slice(below.length).split("/").length;
  const own = plansAmong(
    files.filter((path) => depth(path) === 1 && path.endsWith(".md")),
    read,
    options,
  );
  // A folder of folders: each may have its own.
  const deeper = own.length > 0 ? [] : files.filter((path) => depth(path) === 2 && path.endsWith("/tasks.md"));
  if (own.length + deeper.length > 0) return chosen(own.length > 0 ? own : deeper, given);
  const placed = all.filter((path) => path.startsWith(below) && PLACES.some((place) => place.test(path)));
  return chosen(plansAmong(placed, read, options, isMeant), given);
}

function onlyPlan(read: ReadPlanFile, options: PlanOptions, files: readonly string[]): Result<string> {
  if (typeof read("PLAN.md") === "string") return good("PLAN.md");
  const candidates = files.filter((path) => PLACES.some((place) => place.test(path)));
  const open = plansAmong(candidates, read, options, isMeant);
  return chosen(open, undefined);
}

/** With something left to do; a checklist at the top level only where it is called so: others are about other things. */
const isMeant = ({ phases, format, file }: Plan): boolean =>
  phases.some(({ mark }) => !isDone(mark)) &&
  (format !== "checklist" || file.includes("/") || /plan|to-?do|tasks|roadmap|phases|milestone/i.test(file));

/** Those that can be read as plans, without the phase files that a master plan among them consists of. */
function plansAmong(
  paths: readonly string[],
  read: ReadPlanFile,
  options: PlanOptions,
  counts: (plan: Plan) => boolean = () => true,
): string[] {
  const plans = paths
    .filter((path) => !NEVER.test(path))
    .flatMap((path) => {
      const { plan } = parsePlan(path, read, options);
      return plan === undefined || !counts(plan) ? [] : [plan];
    });
  const parts = new Set(plans.flatMap(({ files }) => files.slice(1)));
  return plans.map(({ file }) => file).filter((file) => !parts.has(file));
}

function chosen(candidates: readonly string[], folder: string | undefined): Result<string> {
  const [first, ...more] = candidates;
  if (first === undefined || more.length > 0) return bad({ type: "which-plan", folder, candidates: [...candidates] });
  return good(first);
}
