/**
 * What the agent reports through Segno's tools, and what it hears.
 *
 * Invariant: what it reports is in the journal before it gets its answer. What makes no sense, or does not fit what was
 * reported before, is answered in the same session, so that it can be put right there.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { undermines } from "../gates/suspicion.js";
import type { Claims } from "../handover/claims.js";
import { writeHanded } from "../handover/handed.js";
import { judgeVerdicts } from "../handover/review.js";
import { TOOL_ANSWERS } from "../handover/tool-answers.js";
import type { Task } from "../plan/model.js";
import { namedTask } from "../plan/named-task.js";
import { criteriaOf } from "../plan/review.js";
import type { Purpose } from "../run/command.js";
import type { BlobRef, Fact } from "../run/event.js";
import type { PhaseResult } from "../run/outcome.js";
import { isAttempted } from "../run/phase.js";
import { requestProblem } from "../run/splitting.js";
import { phaseOf } from "../run/state.js";
import { type ToolHandlers, ToolRefusal } from "../tools/tools.js";
import { lookAtChange } from "./change.js";
import { checkoutOf } from "./checkout.js";
import { agentOfSession, type HeldRun } from "./held-run.js";
import { keepForOthers } from "./safekeeping.js";

export interface ReportPlace {
  phase: string;
  purpose: Purpose;
  attempt: number;
  session: string;
}

/** What its session wants to know, and knows. */
export interface Reporting {
  /** Something was reported; `isStep`: a task, or where there are none a step, is finished. */
  progressed(isStep: boolean): void;
  /** What the agent is to hear with an answer, once. */
  untold(): string | undefined;
}

export class Reports {
  readonly #held: HeldRun;
  readonly #place: ReportPlace;
  readonly #at: Omit<ReportPlace, "purpose">;
  readonly #session: Reporting;
  /** What it handed over, and where that is kept. */
  handed: { claims: Claims; kept: BlobRef } | undefined;
  /** All tasks are reported: the next message should end the phase. */
  expectsResult = false;
  #askedAboutTasks = false;

  constructor(held: HeldRun, place: ReportPlace, session: Reporting) {
    this.#held = held;
    this.#place = place;
    this.#at = { phase: place.phase, attempt: place.attempt, session: place.session };
    this.#session = session;
  }

  handlers(): ToolHandlers {
    const { run } = this.#held;
    const phase = phaseOf(run.state, this.#place.phase);
    return {
      progress: async ({ message, task: said }) => {
        const task = said === undefined ? undefined : namedTask(phase.tasks, said);
        if (said !== undefined && task === undefined) {
          await this.#keep({ type: "progress-reported", ...this.#at, message });
          return TOOL_ANSWERS.noSuchTask(said, phase.tasks);
        }
        this.#session.progressed(task !== undefined || phase.tasks.length === 0);
        if (task !== undefined) await this.#sendWork([task]);
        await this.#keep({ type: "progress-reported", ...this.#at, message, task });
        return [TOOL_ANSWERS.recorded, this.#session.untold() ?? ""].filter((text) => text !== "").join("\n\n");
      },
      decision: async ({ text }) => {
        await this.#keep({ type: "decision-recorded", ...this.#at, text });
        return TOOL_ANSWERS.recorded;
      },
      verdict: async ({ criteria }) => {
        if (this.#place.purpose !== "verify") return TOOL_ANSWERS.noVerdict;
        const { top } = checkoutOf(this.#held, this.#place.phase);
        const verdicts = judgeVerdicts(criteriaOf(phase), criteria, (path) => existsSync(join(top, path)));
        await this.#keep({ type: "verdict-reported", ...this.#at, verdicts });
        return TOOL_ANSWERS.verdict;
      },
      checkpoint: async (claims) => {
        const kept = run.putBlob(writeHanded({ type: "tool", claims }));
        this.handed = { claims, kept };
        await this.#keep({ type: "checkpoint-reported", ...this.#at, handed: kept });
        this.expectsResult = this.#place.purpose === "work" && phase.tasks.length > 0 && this.#tasksLeft().length === 0;
        return this.expectsResult
          ? TOOL_ANSWERS.savedAll(agentOfSession(this.#held, this.#place.session).toolName("phase_result"))
          : TOOL_ANSWERS.saved;
      },
      phase_result: async (given) => {
        if (this.#place.purpose === "verify") return TOOL_ANSWERS.onlyVerdict;
        if (given.status === "split_request") return this.#splitRequested(given);
        const result = withTaskIds(given, phase.tasks);
        if (result.status === "completed") {
          this.#askAboutTasks(result);
          await this.#askAboutChange();
        }
        await this.#sendWork(result.tasks_completed);
        await this.#keep({ type: "result-reported", ...this.#at, result });
        return TOOL_ANSWERS.result;
      },
    };
  }

  /** Where others may take over: the work of tasks is there before anybody is told that they are done. */
  async #sendWork(tasks: readonly string[]): Promise<void> {
    const { run, remote } = this.#held;
    const { phase: id } = this.#place;
    const phase = run.state.phases.get(id);
    if (remote === undefined || !isAttempted(phase)) return;
    const { tasksDone } = phase.attempt.progress;
    const all = [...new Set([...tasksDone, ...tasks])];
    await keepForOthers(this.#held, id, checkoutOf(this.#held, id).git, all);
    await remote.sendOpenWork(id);
  }

  /** Nonsense is answered, so that the agent can correct it. */
  async #splitRequested(result: PhaseResult): Promise<string> {
    const { run } = this.#held;
    const { phase: id, purpose } = this.#place;
    const phase = run.state.phases.get(id);
    const done = isAttempted(phase) ? phase.attempt.progress.tasksDone : [];
    const repairs = purpose === "remediate";
    const problem =
      purpose === "work" || repairs
        ? requestProblem(run.state, id, result, { done, repairs })
        : TOOL_ANSWERS.noSplitNow;
    if (problem !== undefined) throw new ToolRefusal(TOOL_ANSWERS.notRecorded(problem));
    await this.#keep({ type: "result-reported", ...this.#at, result });
    return TOOL_ANSWERS.split;
  }

  #tasksLeft(): readonly Task[] {
    const { state } = this.#held.run;
    const phase = state.phases.get(this.#place.phase);
    const done = isAttempted(phase) ? phase.attempt.progress.tasksDone : [];
    return phaseOf(state, this.#place.phase).tasks.filter(({ id }) => !done.includes(id));
  }

  /** A result that does not fit what was reported is asked about at once, in the same session; what is said then counts. */
  #askAboutTasks(result: PhaseResult): void {
    if (this.#askedAboutTasks || this.#place.purpose === "merge") return;
    const left = this.#tasksLeft().filter(({ id }) => !result.tasks_completed.includes(id));
    const remaining = left.filter(({ id }) => result.tasks_remaining.includes(id));
    const missing = left.filter(({ id }) => !result.tasks_remaining.includes(id));
    if (left.length === 0 || (missing.length === 0 && (result.explanation ?? "") !== "")) return;
    this.#askedAboutTasks = true;
    throw new ToolRefusal(missing.length > 0 ? TOOL_ANSWERS.unaccounted(missing) : TOOL_ANSWERS.unfinished(remaining));
  }
  /** What judges the phase was changed, and nobody asked for that: its result counts only after a word about it. */
  async #askAboutChange(): Promise<void> {
    const { run } = this.#held;
    const { phase: id, purpose } = this.#place;
    const phase = run.state.phases.get(id);
    if (run.state.config.suspicious !== "ask" || purpose === "merge" || !isAttempted(phase)) return;
    const { asked } = phase.attempt.judged;
    const { suspicions } = await lookAtChange(this.#held, id, phase.attempt);
    const found = suspicions.filter((one) => undermines(one) && !asked.includes(one.text));
    if (found.length === 0) return;
    await this.#keep({ type: "suspicion-raised", ...this.#at, suspicions: found });
    throw new ToolRefusal(TOOL_ANSWERS.undermined(found.map(({ text }) => text)));
  }

  /** In the journal, and kept, before the agent hears so. */
  async #keep(fact: Fact): Promise<void> {
    const { run } = this.#held;
    run.append(fact);
    await run.flush();
  }
}

/** Tasks by their ids, also where the agent named them otherwise; what is no task stays as it was said. */
function withTaskIds(result: PhaseResult, tasks: readonly Task[]): PhaseResult {
  const ids = (names: readonly string[]): string[] => names.map((name) => namedTask(tasks, name) ?? name);
  return { ...result, tasks_completed: ids(result.tasks_completed), tasks_remaining: ids(result.tasks_remaining) };
}
