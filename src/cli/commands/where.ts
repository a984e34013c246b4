/** `segno` alone: where one stands, and the command that comes next. Runs nothing that the project names. */
import { existsSync } from "node:fs";
import { findPlan } from "../../engine/find-plan.js";
import { planFiles } from "../../engine/plan-files.js";
import { planOptions } from "../../engine/plan-options.js";
import { openRepository } from "../../git/start.js";
import { isDone } from "../../plan/model.js";
import { parsePlan } from "../../plan/parse.js";
import { RunView } from "../../view/board.js";
import { figuresOf } from "../../view/report.js";
import { EXIT } from "../exit.js";
import { readSettings } from "../settings.js";
import { sayAway, storeHere } from "../store-here.js";
import { wordsOf } from "../words.js";

export interface Where {
  /** What is so, a line each. */
  stands: string[];
  /** What to type now, and what it does; the first is the one that matters. */
  next: [string, string][];
}

export async function whereCommand(): Promise<number> {
  const { stands, next } = await whereOf(process.cwd());
  console.log(stands.join("\n"));
  const widest = Math.max(...next.map(([command]) => command.length));
  console.log(`\n${next.map(([command, what]) => `  ${command.padEnd(widest)}   ${what}`).join("\n")}`);
  console.log("\nsegno --help lists every command.");
  return EXIT.done;
}

const EXAMPLE: [string, string] = ["segno rehearse --example", "watch an example plan run: no key, no cost"];

export async function whereOf(cwd: string): Promise<Where> {
  const opened = await openRepository(cwd, { detached: true, looks: true });
  if (!opened.ok) {
    const { what, next } = wordsOf({ type: "repository", problem: opened.problem, detail: opened.detail });
    const command = /git [^,\n]+?(?=, |$)/.exec(next.split("\n").at(-1) ?? "")?.[0];
    return {
      stands: [what, next],
      next: [
        [command ?? "segno doctor", command === undefined ? "looks at everything a run needs" : "puts that right"],
        EXAMPLE,
      ],
    };
  }
  const { top } = opened.git;
  const last = await lastRun(top);
  if (last !== undefined && last.next.length > 0) return last;
  const plan = await planHere(top, cwd);
  return { stands: [...(last?.stands ?? []), ...plan.stands], next: plan.next };
}

/** How the newest run of this repository stands; without a next command where it is over. */
async function lastRun(top: string): Promise<Where | undefined> {
  const { store, away } = await storeHere(top);
  sayAway(away);
  const run = (await store.checkoutHolder())?.run ?? (await store.list())[0];
  if (run === undefined) return undefined;
  const view = new RunView();
  const read = await store.read(run);
  for (const event of read.events) view.take(event);
  if (view.board === undefined) return undefined;
  const { title, status, phases, questions, mode } = figuresOf(view.board);
  if (mode === "rehearsal") return undefined;
  const holder = await store.holder(run);
  const goesOn = status === "running" || status === "paused";
  const waits = goesOn && holder === undefined && (await store.waitsForAnyone(run));
  const live = holder !== undefined || waits;
  const done = phases.filter((phase) => phase.status === "done").length;
  const short = run.split("-").at(-1) ?? run;
  const of = `"${title}", ${done} of ${phases.length} phases done (run ${short})`;
  if (live && questions.length > 0)
    return {
      stands: [`A run waits for you: ${of}.`, ...questions.map(({ text }) => `  ${text}`)],
      next: [
        ["segno answer", "shows what it asks, and takes your answer"],
        ["segno watch", "the live screen"],
      ],
    };
  if (live)
    return {
      stands: [
        waits
          ? `A run waits for a worker: ${of}. Start one, on any machine: segno worker`
          : `A run is under way: ${of}.`,
      ],
      next: [
        ["segno watch", "the live screen"],
        ["segno status", "how it stands"],
        ["segno stop", "stop it after the running tool; it can be resumed"],
      ],
    };
  const failed = phases.find((phase) => phase.failure !== undefined);
  if (status === "failed")
    return {
      stands: [`The last run failed: ${of}.`, `  ${failed?.failure?.message ?? ""}`],
      next: [
        ["segno status", "why, with what the gate printed"],
        [`segno resume ${short}`, "try again from what it left"],
        ["segno undo", "go back to before it"],
      ],
    };
  if (status !== "completed")
    return {
      stands: [`A run was ${status === "stopped" ? "stopped" : "interrupted"}: ${of}.`],
      next: [
        [`segno resume ${short}`, "go on where it was"],
        ["segno status", "how it stands"],
      ],
    };
  return { stands: [`The last run is finished: ${of}. segno report shows it.`], next: [] };
}

/** What can be done with the plan that is here. */
async function planHere(top: string, cwd: string): Promise<Where> {
  const settings = await readSettings(cwd, {});
  if (!settings.ok)
    return {
      stands: [wordsOf(settings.failure).what],
      next: [["segno config", "shows what counts, and what is wrong"]],
    };
  const { config, file } = settings.value;
  const options = planOptions(config, undefined);
  const found = await findPlan(top, top, undefined, options);
  if (!found.ok) {
    const many = found.failure.type === "which-plan" ? found.failure.candidates : [];
    if (many.length > 1)
      return {
        stands: [`There are ${many.length} plans here:`, ...many.slice(0, 10).map((each) => `  ${each}`)],
        next: [[`segno audit ${many[0]}`, "what Segno understands of one"]],
      };
    return {
      stands: ["There is no plan here yet."],
      next: [["segno init", "a configuration and a plan to fill, or from notes: segno init --from NOTES.md"], EXAMPLE],
    };
  }
  const plan = found.value;
  const parsed = parsePlan(plan, planFiles(top).read, options);
  const errors = parsed.diagnostics.filter(({ severity }) => severity === "error").length;
  if (!parsed.ok)
    return {
      stands: [`${plan} cannot be run yet: ${errors === 1 ? "one error" : `${errors} errors`}.`],
      next: [[`segno audit ${plan}`, "what is wrong, each with its line and a fix"]],
    };
  const open = parsed.plan.phases.filter(({ mark }) => !isDone(mark)).length;
  if (open === 0)
    return {
      stands: [`All ${parsed.plan.phases.length} phases of ${plan} are marked as done.`],
      next: [["segno report", "what the last run did"]],
    };
  const stands = [`${plan}: ${open} of ${parsed.plan.phases.length} phases to do.`];
  if (!existsSync(file) && config.permission_mode === undefined)
    return {
      stands: [...stands, "Nothing is configured yet: what the agent may do must be chosen once."],
      next: [
        ["segno init", "asks what is needed, and writes it down"],
        [`segno rehearse ${plan}`, "run it in a scratch clone: no key, no cost"],
      ],
    };
  return {
    stands,
    next: [
      [`segno rehearse ${plan}`, "run it in a scratch clone: no key, no cost"],
      [`segno forecast ${plan}`, "what it will need"],
      [`segno run ${plan}`, "run it for real"],
    ],
  };
}
