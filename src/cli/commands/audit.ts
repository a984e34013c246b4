import { relative, resolve } from "node:path";
import { isInside, planFiles } from "../../engine/plan-files.js";
import { planOptions } from "../../engine/start.js";
import { wavesOf } from "../../plan/graph.js";
import type { Diagnostic, Gate, Plan } from "../../plan/model.js";
import { parsePlan } from "../../plan/parse.js";
import { EXIT } from "../exit.js";
import { readFormat } from "../format.js";
import { printFailure } from "../print-failure.js";
import { readSettings } from "../settings.js";
import { repositoryTop } from "../top.js";
import { diagnosticText } from "../words.js";

export interface AuditFlags {
  json?: boolean;
  strict?: boolean;
  format?: string;
  subPhases?: string;
}

/** What was understood of a plan, the order it would run in, and everything that is wrong or doubtful about it. */
export async function auditCommand(file: string, flags: AuditFlags): Promise<number> {
  const json = flags.json === true;
  const settings = await readSettings(process.cwd(), { subPhases: flags.subPhases });
  if (!settings.ok) return printFailure(settings.failure, json);
  const format = readFormat(flags.format);
  if (!format.ok) return printFailure(format.failure, json);
  // A plan can be looked at anywhere; only running it needs a repository.
  const found = await repositoryTop();
  const top = found.ok ? found.value : process.cwd();
  const path = resolve(process.cwd(), file);
  if (!isInside(top, path)) return printFailure({ type: "plan-outside", file, top }, json);
  const parsed = parsePlan(relative(top, path), planFiles(top).read, planOptions(settings.value.config, format.value));
  const { diagnostics } = parsed;
  const plan = parsed.plan;
  const errors = diagnostics.filter((diagnostic) => diagnostic.severity === "error" || flags.strict === true);
  if (json)
    console.log(
      JSON.stringify({
        format: plan?.format ?? null,
        phases: (plan?.phases ?? []).map(phaseJson),
        waves: plan === undefined ? [] : wavesOf(plan.phases),
        boxes: parsed.boxes,
        diagnostics,
      }),
    );
  else printAudit(plan, parsed.boxes, diagnostics);
  return errors.length > 0 ? EXIT.usage : EXIT.done;
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

function printAudit(plan: Plan | undefined, boxes: number, diagnostics: readonly Diagnostic[]): void {
  if (plan !== undefined) {
    const tasks = plan.phases.reduce((sum, phase) => sum + phase.tasks.length, 0);
    console.log(`${plan.title}\n${plan.file}: format ${plan.format}, ${plan.phases.length} phases, ${tasks} tasks\n`);
    const byId = new Map(plan.phases.map((phase) => [phase.id, phase]));
    for (const [index, wave] of wavesOf(plan.phases).entries()) {
      console.log(`wave ${index + 1}`);
      for (const id of wave) printPhase(byId.get(id) as Plan["phases"][number]);
    }
  }
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

function printPhase({ id, title, dependsOn, tasks, gates, mark, leftOut = [] }: Plan["phases"][number]): void {
  const after = dependsOn.length === 0 ? "" : `, after ${dependsOn.join(", ")}`;
  const optional = leftOut.length === 0 ? "" : `, ${leftOut.length} optional (not done: optional_tasks is off)`;
  console.log(
    `  ${id}  ${title}${mark === undefined ? "" : ` (${mark})`}: ${tasks.length} tasks, ${gates.length} gates${optional}${after}`,
  );
}
