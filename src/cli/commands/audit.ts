import { relative } from "node:path";
import type { Config } from "../../config/schema.js";
import { checksOf, hasGates } from "../../engine/found-gates.js";
import { planFiles } from "../../engine/plan-files.js";
import { planOptions } from "../../engine/plan-options.js";
import type { FoundCheck } from "../../gates/found/check.js";
import { wavesOf } from "../../plan/graph.js";
import type { Diagnostic, FormatName, Gate, Plan } from "../../plan/model.js";
import { agentsNamed } from "../../run/choosing.js";
import { EXIT } from "../exit.js";
import { readFormat } from "../format.js";
import { printFailure } from "../print-failure.js";
import { readPlan } from "../read-plan.js";
import { readSettings, type Settings } from "../settings.js";
import { repositoryTop } from "../top.js";
import { type TriedGate, triedText, tryGates } from "../try-gates.js";
import { diagnosticText, wordsOf } from "../words.js";

export interface AuditFlags {
  json?: boolean;
  strict?: boolean;
  format?: string;
  subPhases?: string;
  tag?: string;
  tryGates?: boolean;
}

interface Audit {
  plan: Plan | undefined;
  boxes: number;
  diagnostics: Diagnostic[];
  /** The project's own checks, where the plan has no gate. */
  checks: FoundCheck[];
  tried: TriedGate[];
  /** What the agents it would be done by cannot do. */
  agents: string[];
}

/** What was understood of plans, the order they would run in, and everything that is wrong or doubtful about them. */
export async function auditCommand(plans: readonly string[], flags: AuditFlags): Promise<number> {
  const json = flags.json === true;
  const settings = await readSettings(process.cwd(), { subPhases: flags.subPhases, tag: flags.tag });
  if (!settings.ok) return printFailure(settings.failure, json);
  const format = readFormat(flags.format);
  if (!format.ok) return printFailure(format.failure, json);
  // A plan can be looked at anywhere; only running it needs a repository.
  const found = await repositoryTop();
  const top = found.ok ? found.value : process.cwd();
  if (flags.tryGates === true && !found.ok) return printFailure(found.failure, json);
  let worst: number = EXIT.done;
  const named: readonly (string | undefined)[] = plans.length === 0 ? [undefined] : plans;
  for (const [n, file] of named.entries()) {
    if (n > 0 && !json) console.log("");
    const code = await auditOne(file, top, settings.value, format.value, flags);
    worst = Math.max(worst, code);
  }
  return worst;
}

async function auditOne(
  file: string | undefined,
  top: string,
  { config }: Settings,
  format: FormatName | undefined,
  flags: AuditFlags,
): Promise<number> {
  const json = flags.json === true;
  const options = planOptions(config, format);
  const found = await readPlan(top, file, options);
  if (!found.ok) return printFailure(found.failure, json);
  const parsed = found.value;
  const { plan, boxes } = parsed;
  const { read } = planFiles(top);
  const checks =
    plan === undefined || config.gates_found === "off" || hasGates(plan, config)
      ? []
      : checksOf(read, relative(top, process.cwd()), plan);
  const tried = plan === undefined || flags.tryGates !== true ? [] : await tryGates(top, plan, config, json);
  const diagnostics = [...parsed.diagnostics, ...tried.flatMap(({ doubt }) => doubt ?? [])];
  const agents = plan === undefined ? [] : await aboutAgents(config, plan);
  const audit: Audit = { plan, boxes, diagnostics, checks, tried, agents };
  if (json) printJson(audit);
  else printAudit(audit);
  const counts = diagnostics.some(({ severity }) => severity === "error" || flags.strict === true);
  return counts ? EXIT.usage : EXIT.done;
}

/** Whether the agents can keep the level, and what each cannot do. Nothing is started; Claude Code alone can do it all. */
async function aboutAgents(config: Config, plan: Plan): Promise<string[]> {
  const names = agentsNamed(config, plan);
  if (names.length === 1 && names[0] === "claude" && !config.sandbox) return [];
  const { findCrew } = await import("../crew.js");
  const { shortcomings } = await import("../../agents/agent.js");
  const crew = await findCrew(config, plan, config.permission_mode ?? "all", "user");
  if (!crew.ok) return [wordsOf(crew.failure).what];
  const { agent, others = [], notices = [] } = crew.value;
  return [...notices, ...[agent, ...others].flatMap((each) => shortcomings(each, config))];
}

function printJson({ plan, boxes, diagnostics, checks, tried, agents }: Audit): void {
  console.log(
    JSON.stringify({
      file: plan?.file ?? null,
      format: plan?.format ?? null,
      phases: (plan?.phases ?? []).map(phaseJson),
      waves: plan === undefined ? [] : wavesOf(plan.phases),
      boxes,
      checks,
      agents,
      ...(tried.length === 0 ? {} : { gates_tried: tried.map(({ doubt: _, ...rest }) => rest) }),
      diagnostics,
    }),
  );
}

const phaseJson = ({
  id,
  title,
  dependsOn,
  tasks,
  gates,
  mark,
  complexity,
  files,
  criteria,
  readFirst,
  agent,
  model,
  leftOut = [],
  file,
  line,
}: Plan["phases"][number]) => ({
  id,
  title,
  depends_on: dependsOn,
  tasks: tasks.map((task) => ({ id: task.id, title: task.title, done: task.ticked, line: task.line })),
  gates: gates.map((gate) => ({ id: gate.id, name: gate.name, ...gateJson(gate), line: gate.line })),
  status: mark ?? "pending",
  complexity: complexity ?? null,
  files,
  criteria,
  read_first: readFirst,
  agent: agent ?? null,
  model: model ?? null,
  optional: leftOut.map((task) => ({ id: task.id, title: task.title, line: task.line })),
  file,
  line,
});

function gateJson({ check }: Gate): Record<string, unknown> {
  switch (check.type) {
    case "command":
      return {
        command: check.command,
        ...(check.prints === undefined
          ? {}
          : { returns: check.prints.atLeast ? `at least ${check.prints.number}` : check.prints.number }),
      };
    case "file":
      return { must_exist: check.path };
    case "manual":
      return { manual: true };
    default:
      return check satisfies never;
  }
}

function printAudit({ plan, boxes, diagnostics, checks, tried, agents }: Audit): void {
  if (plan !== undefined) {
    const tasks = plan.phases.reduce((sum, phase) => sum + phase.tasks.length, 0);
    console.log(`${plan.title}\n${plan.file}: format ${plan.format}, ${plan.phases.length} phases, ${tasks} tasks\n`);
    const byId = new Map(plan.phases.map((phase) => [phase.id, phase]));
    for (const [index, wave] of wavesOf(plan.phases).entries()) {
      console.log(`wave ${index + 1}`);
      for (const id of wave) printPhase(byId.get(id) as Plan["phases"][number]);
    }
  }
  if (checks.length > 0) console.log(`\n${checksText(checks)}`);
  if (tried.length > 0) console.log(`\n${triedText(tried)}`);
  if (agents.length > 0) console.log(`\n${agents.join("\n")}`);
  const [errors, warnings] = ["error", "warning"].map((severity) =>
    diagnostics.filter((diagnostic) => diagnostic.severity === severity),
  ) as [Diagnostic[], Diagnostic[]];
  if (errors.length > 0) console.log(`\nerrors\n${errors.map(diagnosticText).join("\n")}`);
  if (warnings.length > 0) console.log(`\nwarnings\n${warnings.map(diagnosticText).join("\n")}`);
  console.log(
    `\n${errors.length === 0 ? "It can be run." : "It cannot be run yet."} ${errors.length} errors, ${warnings.length} warnings.`,
  );
  const read = plan?.phases.reduce((sum, phase) => sum + phase.tasks.length + (phase.leftOut?.length ?? 0), 0) ?? 0;
  console.log(`${boxes} boxes seen, ${read} tasks read.`);
}

function checksText(checks: readonly FoundCheck[]): string {
  const line = ({ command, where }: FoundCheck): string => `  ${command}  (${where})`;
  const [safe, other] = [checks.filter((check) => check.safe), checks.filter((check) => !check.safe)];
  return [
    ...(safe.length === 0
      ? []
      : [
          "The plan has no gate. A run judges its phases with these, if they pass before the first:",
          ...safe.map(line),
        ]),
    ...(other.length === 0
      ? []
      : ["Found, and run only where you write them down (segno init, project_gates):", ...other.map(line)]),
  ].join("\n");
}

function printPhase({
  id,
  title,
  dependsOn,
  tasks,
  gates,
  mark,
  agent,
  model,
  leftOut = [],
}: Plan["phases"][number]): void {
  const after = dependsOn.length === 0 ? "" : `, after ${dependsOn.join(", ")}`;
  const optional = leftOut.length === 0 ? "" : `, ${leftOut.length} optional (not done: optional_tasks is off)`;
  const who = agent === undefined && model === undefined ? "" : `, by ${[agent, model].filter(Boolean).join(" with ")}`;
  console.log(
    `  ${id}  ${title}${mark === undefined ? "" : ` (${mark})`}: ${tasks.length} tasks, ${gates.length} gates${optional}${who}${after}`,
  );
}
