/** A failure → what happened, why it matters, what to do next. */
import type { Failure } from "../engine/failure.js";
import type { Diagnostic } from "../plan/model.js";
import { MODES } from "./permission.js";

export interface Words {
  what: string;
  why: string;
  next: string;
}

export function wordsOf(failure: Failure): Words {
  switch (failure.type) {
    case "usage":
      return { what: failure.what, why: "Nothing was started.", next: failure.fix };
    case "plan": {
      const errors = failure.diagnostics.filter((diagnostic) => diagnostic.severity === "error");
      return {
        what: `The plan cannot be run: ${errors.length === 1 ? "one error" : `${errors.length} errors`}.\n\n${errors.map(diagnosticText).join("\n\n")}`,
        why: "Nothing was started and nothing was changed.",
        next: "Correct the plan and run again.",
      };
    }
    case "plan-outside":
      return {
        what: `The plan ${failure.file} is not inside the repository ${failure.top}.`,
        why: "Segno works in the repository it is started in, and marks progress in the plan there.",
        next: "Copy the plan into the repository, or change to the repository it belongs to.",
      };
    case "which-plan":
      return whichPlanWords(failure);
    case "config":
      return {
        what: `The configuration has ${failure.problems.length === 1 ? "an error" : "errors"}:\n\n${failure.problems.map((problem) => `  ${problem.line > 0 ? `${problem.file}:${problem.line}:${problem.column}` : problem.file}: ${problem.message}\n    ${problem.fix}`).join("\n")}`,
        why: "A run with settings other than the ones you meant could cost you hours.",
        next: "Correct it and run again.",
      };
    case "repository":
      return repositoryWords(failure);
    case "dirty":
      return {
        what: `The working tree has ${failure.files.length} changed ${failure.files.length === 1 ? "file" : "files"}: ${failure.files.slice(0, 5).join(", ")}${failure.files.length > 5 ? ", …" : ""}`,
        why: "Segno commits what a phase changes, and could not always tell it from your own changes in the same file.",
        next: "Commit or stash them, or start with --allow-dirty: files that are changed now stay out of Segno's commits.",
      };
    case "no-permission-mode":
      return {
        what: "No permission_mode is chosen.",
        why: "Nobody is there to answer the agent's permission prompts, so it must be decided before what it may do by itself.",
        next: `Pass --permission-mode, or write it to .segno/config.yaml:\n${modeLines()}`,
      };
    case "no-agent":
      return {
        what: `${failure.agent} cannot be started: ${failure.detail}`,
        why: `The run is to be done by ${failure.agent}, and cannot be without it.`,
        next: failure.help,
      };
    case "no-login":
      return {
        what: `${failure.agent} is not logged in, and there is no API key.`,
        why: "Every session would end at its first model call.",
        next: `${failure.help} To try a plan without either: segno rehearse PLAN.md`,
      };
    case "unknown-agent":
      return {
        what: `There is no agent "${failure.agent}".`,
        why: "The configuration names who does the work.",
        next: `Agents: ${failure.known.join(", ")} (agent in .segno/config.yaml).`,
      };
    case "no-run":
      return {
        what:
          failure.run === undefined
            ? "There is no run in this repository."
            : `There is no run ${failure.run} in this repository.`,
        why: "Runs are kept in the folder segno/ of the git directory, a team's in its database.",
        next:
          failure.run === undefined
            ? "Start one with `segno run PLAN.md`."
            : "See which there are: segno runs. The end of an id is enough.",
      };
    case "journal":
      return {
        what: `The journal ${failure.file} is damaged at line ${failure.line}: ${failure.why}.`,
        why: "What happened after that line cannot be trusted, so Segno does not go on from it.",
        next: `The ${failure.readable} events before it are sound. What was committed is in git. Start a new run with --fresh, or restore the file from a backup.`,
      };
    case "held":
      return {
        what: `${failure.what === "run" ? `The run ${failure.run} is` : `Another run (${failure.run}) is`} in progress in this checkout: process ${failure.pid}, since ${failure.since}, on ${failure.host}.`,
        why: "Two runs in one checkout would commit each other's work.",
        next: "Watch it with `segno watch`, let it go on if it is paused with `segno continue`, stop it with `segno stop`; or use another clone or worktree.",
      };
    case "other-branch":
      return {
        what: `The run works on branch ${failure.expected}, and ${failure.actual} is checked out.`,
        why: "Its commits would end up on the wrong branch.",
        next: `git switch ${failure.expected}, then resume; or start anew on this branch with --fresh.`,
      };
    case "branch":
      return {
        what: `The branch ${failure.branch} cannot be used: ${failure.why}`,
        why: "Nothing was started.",
        next: "Name another (--branch NAME), or work on the current one (--branch current).",
      };
    case "old-run":
      return {
        what: `Run ${failure.run} of ${failure.plan} was interrupted ${Math.round(failure.hours)} hours ago, longer than resume_window_hours (${failure.window}).`,
        why: "So much may have changed since that going on should be your decision.",
        next: `Go on with it:    segno resume ${failure.run}\nOr start anew:     segno run ${failure.plan} --fresh`,
      };
    case "nothing-to-resume":
      return {
        what:
          failure.run === undefined
            ? `There is nothing to resume: ${failure.why}.`
            : `Run ${failure.run} cannot be resumed: ${failure.why}.`,
        why: "A run goes on only where something is left to do.",
        next: "Start one with `segno run PLAN.md`; `segno status` shows the newest.",
      };
    case "disk-full":
      return {
        what: "The disk is full.",
        why: "What happens next could not be written down, so the run stopped. Nothing that was done is lost.",
        next: `Make room, then go on with: segno resume ${failure.run}`,
      };
    case "file-system":
      return {
        what: `The file system refuses${failure.path === undefined ? "" : ` ${failure.path}`} (${failure.code}).`,
        why: "Without it Segno cannot write down what happens next, so it stopped. What was done is in the working tree, and in commits as far as they could be made.",
        next: `Put it right (permissions, a read-only mount, a folder that is gone), then go on with: segno ${failure.run === undefined ? "doctor" : `resume ${failure.run}`}`,
      };
    case "database-away":
      return {
        what: `The team's database at ${failure.where} cannot be reached: ${failure.why}`,
        why: "Runs of a team are kept there. What was said to be done is in it.",
        next: "Is it running, and reachable from here? Then try again. Runs of this machine alone need none.",
      };
    case "windows":
      return {
        what: "Segno does not run natively on Windows.",
        why: "It needs process groups, signals and file locks as Linux and macOS have them.",
        next: "Run it inside WSL: https://learn.microsoft.com/windows/wsl",
      };
    default:
      return failure satisfies never;
  }
}

function repositoryWords({ problem, detail }: Extract<Failure, { type: "repository" }>): Words {
  switch (problem) {
    case "not-a-repository":
      return {
        what: `${detail} is not in a git repository.`,
        why: "Segno commits every phase, so that no work is lost.",
        next: "Run it inside a repository, or make one: git init && git add . && git commit --allow-empty -m start",
      };
    case "bare":
      return {
        what: `${detail} is a bare repository, without a working tree.`,
        why: "Agents work on files.",
        next: "Clone it, and run Segno in the clone.",
      };
    case "no-commit":
      return {
        what: `${detail} has no commit yet.`,
        why: "Segno needs a commit to tell its own changes from yours.",
        next: "Make a first one: git add . && git commit --allow-empty -m start",
      };
    case "detached":
      return {
        what: `No branch is checked out (HEAD is at ${detail.slice(0, 9)}).`,
        why: "Commits that are on no branch are easily lost.",
        next: "Check out a branch: git switch -c my-branch",
      };
    case "unfinished":
      return {
        what: `A ${detail} is in progress in this repository.`,
        why: "Commits in the middle of it would end up inside it.",
        next: `Finish or abort it first (git status tells how), then run again.`,
      };
    case "no-identity":
      return {
        what: `git does not know who you are: ${detail}`,
        why: "Segno commits in your name, never in one it made up.",
        next: 'git config user.name "Your Name" && git config user.email you@example.com, then run again.',
      };
    case "locked":
      return {
        what: `The repository's index is locked by ${detail}, and has been for more than a minute.`,
        why: "A git that was ended in the middle leaves such a lock; while it is there, nothing can be committed.",
        next: `If no git is running here, remove it: rm ${detail}`,
      };
    case "sparse":
      return {
        what: `${detail} is a sparse checkout.`,
        why: "Files that are not checked out could be taken for deleted ones.",
        next: "git sparse-checkout disable, or run Segno in a full clone.",
      };
    default:
      return problem satisfies never;
  }
}

function whichPlanWords({ folder, candidates }: Extract<Failure, { type: "which-plan" }>): Words {
  const where = folder === undefined ? "here" : `in ${folder}`;
  const why = "Nothing was started.";
  if (candidates.length === 0)
    return {
      what: folder === undefined ? "No plan was named, and none was found here." : `There is no plan in ${folder}.`,
      why,
      next: "Name the file. `segno init` writes a plan to start from, `segno init --from FILE` makes one of headings and bullets.",
    };
  return {
    what: `There are ${candidates.length} plans ${where}:\n${candidates
      .slice(0, 20)
      .map((file) => `  ${file}`)
      .join("\n")}${candidates.length > 20 ? "\n  …" : ""}`,
    why,
    next: "Name the one you mean.",
  };
}

export const diagnosticText = ({ file, line, message, fix }: Diagnostic): string =>
  `  ${file}:${line}: ${message}\n    ${fix.replaceAll("\n", "\n    ")}`;

const modeLines = (): string =>
  MODES.map(({ name, meaning }) => `  permission_mode: ${name.padEnd(18)} # ${meaning}`).join("\n");
