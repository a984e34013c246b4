/** One line per event that is worth one, for a terminal or a CI log. */
import type { FactOf, RunEvent } from "../run/event.js";
import { handsOverText } from "./handover-rules.js";
import { thousands } from "./numbers.js";
import { takenText, workersText } from "./team.js";

export interface Line {
  symbol: string;
  phase: string | undefined;
  text: string;
}

const gauge = (percent: number): string => {
  const full = Math.min(20, Math.round(percent / 5));
  return `${"█".repeat(full)}${"░".repeat(20 - full)} ${percent.toFixed(0).padStart(3)} %`;
};

const COMMITS: Record<FactOf<"commit-made">["kind"], string> = {
  phase: "phase",
  handover: "partial, before a handover",
  failed: "what a failed phase left",
  merge: "with what others merged meanwhile",
};

/** Whether the run is over after this event; what is noted after its end changes nothing. */
export function isOverAfter(event: RunEvent, before: boolean): boolean {
  switch (event.type) {
    case "run-completed":
    case "run-failed":
    case "run-stopped":
      return true;
    case "run-resumed":
      return false;
    default:
      return before;
  }
}

export function lineOf(event: RunEvent): Line | undefined {
  const phase = "phase" in event ? event.phase : undefined;
  const line = (symbol: string, text: string): Line => ({ symbol, phase, text });
  switch (event.type) {
    case "run-started": {
      const done = event.takenAsDone.length === 0 ? "" : `, ${event.takenAsDone.length} already marked done`;
      return line(
        "𝄋",
        `${event.plan.title}: ${event.plan.phases.length} phases${done} (run ${event.run}, branch ${event.branch}; budget $${event.config.max_cost_usd}, ${thousands(event.config.max_tokens)} tokens, ${event.config.max_hours} h)`,
      );
    }
    case "phase-started":
      return line("▶", "phase started");
    case "session-started":
      return line(
        "○",
        `session ${event.session.split("/").at(-1)}${event.most === undefined ? "" : ` of at most ${event.most}`} (${event.purpose}${event.agent === undefined ? "" : ` by ${event.agent}`}${event.resumed ? ", its conversation resumed" : ""}), prompt about ${thousands(event.promptTokens)} tokens${event.idle === undefined || event.idle.count === 0 ? "" : `; handovers without a finished task: ${event.idle.count} of at most ${event.idle.most}`}`,
      );
    case "session-ready":
      return line(
        "·",
        event.window === undefined ? event.model : `${event.model}, window ${thousands(event.window)} tokens`,
      );
    case "window-known":
      return line(
        "·",
        event.hands === undefined
          ? `window ${thousands(event.window)} tokens`
          : `window ${thousands(event.window)} tokens; ${handsOverText(event.hands, event.hands.soft, event.window)}`,
      );
    case "progress-reported":
      return line("✓", event.task === undefined ? event.message : `task ${event.task}  ${event.message}`);
    case "decision-recorded":
      return line("◆", `decision: ${event.text}`);
    case "call-made":
      return event.subagent ? undefined : line("·", `context ${gauge(event.reading.percent)}`);
    case "boundary-decided": {
      const { percent, tokens } = event.reading;
      const why = {
        paused: "pausing",
        skipped: "skipping",
        reported: "reported",
        context: "handing over",
        asked: "asking",
        timeout: "out of time",
        stuck: "going round in circles: handing over",
        "window-too-small": "the window is too small",
        "stop-requested": "stopping",
        leaving: "its worker leaves: handing over",
      }[event.why];
      const rule = event.rule === undefined ? "" : `: ${event.reason}`;
      return line("⤳", `${why} at ${percent} % (${thousands(tokens)} tokens)${rule}`);
    }
    case "context-warned":
      return line("!", `the context is at ${event.reading.percent} %, above ${event.level} %`);
    case "forecast-made": {
      const { phases } = event;
      const sum = (pick: (phase: (typeof phases)[number]) => number) =>
        phases.reduce((total, phase) => total + pick(phase), 0);
      const cost = phases.some((phase) => phase.cost_usd === null)
        ? ""
        : `, $${sum((phase) => phase.cost_usd ?? 0).toFixed(2)}`;
      const basis = event.samples === 0 ? "general figures" : `${event.samples} earlier phases here`;
      const warnings = event.warnings.map((warning) => `\n               ! ${warning}`).join("");
      return line(
        "~",
        `forecast: about ${sum((phase) => phase.sessions)} sessions, ${thousands(sum((phase) => phase.tokens))} tokens${cost} (from ${basis})${warnings}`,
      );
    }
    case "question-asked": {
      const choices = event.choices.map(
        ({ key, name, meaning }) => `\n                 ${key}  ${name.padEnd(9)} ${meaning}`,
      );
      return line(
        "?",
        `${event.text}${choices.join("")}\n                 answer with: segno answer ${event.question} <choice>; in ${event.minutes} minutes: ${event.fallback}`,
      );
    }
    case "question-answered":
      return line(
        "?",
        event.choice === "revise"
          ? `answered: revise (${event.by}); waits until the text of phase ${event.phase} has changed`
          : `answered: ${event.choice} (${event.by})`,
      );
    case "phase-revised":
      return line("✎", "its text has changed: it is tried again");
    case "checkpoint-saved":
      return line(
        "✎",
        `checkpoint from the ${event.source === "ledger" ? "ledger" : "agent and the ledger"}, about ${event.tokens} tokens${event.contradictions.length > 0 ? `, ${event.contradictions.length} claims contradicted` : ""}`,
      );
    case "stuck-noticed":
      return line("!", `going round in circles (${event.count}): ${event.evidence}`);
    case "gates-baselined": {
      const red = event.results.filter((result) => !result.passed).map((result) => result.name);
      if (event.results.length === 0) return undefined;
      return line(
        "·",
        red.length === 0
          ? "all gates pass before the first phase"
          : `gates that fail before the first phase: ${red.join(", ")}`,
      );
    }
    case "head-moved":
      return line("!", `HEAD was moved from ${event.from.slice(0, 9)} to ${event.to.slice(0, 9)}`);
    case "limit-reached":
      return line(
        "‖",
        `${event.agent === undefined ? "" : `${event.agent}: `}${event.message}: back at ${event.until.slice(0, 19).replace("T", " ")} UTC`,
      );
    case "limit-lifted":
      return line("▶", `${event.agent === undefined ? "the limit" : `the limit of ${event.agent}`} should be lifted`);
    case "agent-away":
      return line(
        "⇢",
        `${event.agent} ${event.why === "down" ? "is down" : "is refused"} (${event.message}): somebody else goes on`,
      );
    case "phase-inspected": {
      const found = event.suspicions.map(({ text }) => `suspicious: ${text}`);
      if (event.unreported.length > 0) found.push(`tasks not reported as done: ${event.unreported.join(", ")}`);
      if (event.undocumented) found.push("note: files were changed, and no documentation");
      return found.length === 0 ? undefined : line("!", found.join("; "));
    }
    case "verdict-reported": {
      const failed = event.verdicts.filter((verdict) => !verdict.passed);
      return line(
        failed.length === 0 ? "✓" : "✗",
        `review: ${event.verdicts.length - failed.length} of ${event.verdicts.length} criteria met${failed.map(({ criterion, why }) => `; not met: ${criterion} (${why})`).join("")}`,
      );
    }
    case "handoff-written":
      return line("✎", `what is left is in ${event.file}`);
    case "compaction-blocked":
      return line("!", "the agent wanted to compact its context; a handover follows instead");
    case "compacted":
      return line("!", `the agent compacted its context at ${thousands(event.before)} tokens`);
    case "session-ended":
      return line("●", sessionEndedText(event));
    case "gate-finished":
      return line(
        event.passed ? "✓" : "✗",
        `gate ${event.name}: ${event.passed ? "passed" : `failed, ${event.why}`} (${(event.ms / 1000).toFixed(1)} s)`,
      );
    case "commit-made":
      return line(
        "⎇",
        `${event.ref === undefined ? "commit" : "auto-commit is off: snapshot"} ${event.sha.slice(0, 9)} (${COMMITS[event.kind]}, ${event.files} files)${event.leftOut.length > 0 ? `; left out: ${event.leftOut.slice(0, 5).join(", ")}${event.leftOut.length > 5 ? ", …" : ""}` : ""}`,
      );
    case "commit-refused":
      return line("✗", `the commit was refused: ${event.why}`);
    case "commit-failed":
      return line("✗", event.why);
    case "plan-edited-by-agent":
      return line(
        "!",
        `the agent edited the plan (${event.files.join(", ")}): the edit is left out of the commit and changes nothing`,
      );
    case "plan-changed": {
      const what = [
        ...event.added.map((id) => `phase ${id} added`),
        ...event.removed.map((id) => `phase ${id} removed`),
        ...event.changed.map((id) => `phase ${id} changed`),
      ];
      return line("✎", `the plan was changed: ${what.join(", ") || "only its order"}`);
    }
    case "suspicion-raised":
      return line("?", `the agent is asked about it: ${event.suspicions.map(({ text }) => text).join("; ")}`);
    case "checkout-remade": {
      const lost = event.lost.length === 0 ? "" : `; to be done again: ${event.lost.join(", ")}`;
      return line("↻", `its worktree was deleted, and is there again at its last commit${lost}`);
    }
    case "phase-serialised":
      return line("‖", `waits for phase ${event.behind}: both name ${event.files.slice(0, 5).join(", ")}`);
    case "merge-begun": {
      const others =
        event.behind === undefined ? "what was merged meanwhile" : `phase ${event.behind}, which comes before it,`;
      return event.conflicts.length === 0
        ? line("⇄", `together with ${others}: the gates run again`)
        : line("⇄", `conflicts with ${others}: ${event.conflicts.slice(0, 5).join(", ")}`);
    }
    case "merge-tested":
      return undefined;
    case "phase-merged": {
      const behind =
        event.leftBehind.length === 0
          ? ""
          : `; not brought along in your checkout, because you changed them: ${event.leftBehind.slice(0, 5).join(", ")}`;
      return line("⇄", `merged into ${event.into} as ${event.sha.slice(0, 9)}${behind}`);
    }
    case "merge-failed":
      return line("✗", event.why);
    case "phase-split": {
      const parts = event.parts.map((part) => part.id).join(", ");
      const count = event.parts.length;
      return line(
        "⋔",
        `Phase ${event.phase} too large (${event.reason}). Splitting into ${count} sub-phases, ${event.parts.some(({ dependsOn }) => dependsOn.length > 0) ? "in order" : "launching in parallel"}... ${parts}`,
      );
    }
    case "phase-done":
      return line("✔", event.verified ? "phase done, verified" : "phase done, unverified");
    case "phase-failed":
      return line("✗", `phase failed (${event.category}): ${event.message}`);
    case "warned":
      return line("!", event.message);
    case "stop-requested":
      return line("■", `stopping (${event.by}): the running tool finishes, then a checkpoint is saved`);
    case "run-resumed": {
      const swept = event.swept === 0 ? "" : `, ${event.swept} left-over processes ended`;
      const why = event.revived === undefined ? "" : ` by itself: ${event.revived.cause}`;
      return line("𝄋", `run taken up again${why}${swept}`);
    }
    case "workers-seen":
      return line(event.lost.length > 0 ? "!" : "·", workersText(event));
    case "run-taken":
      return line("𝄋", `conducted by ${event.worker}`);
    case "phase-taken":
      return line("·", takenText(event));
    case "phase-leaving":
      return line("·", `${event.worker} leaves it to others: ${event.why}`);
    case "phase-let-go":
      return line("·", `let go by ${event.worker}: ${event.why}`);
    case "run-held":
      return line("‖", `paused (${event.by})`);
    case "run-released":
      return line("▶", `going on (${event.by})`);
    case "clock-jumped":
      return line("·", `the machine slept, or its clock was set: ${event.seconds} s`);
    case "door-refused":
      return line("!", `a request to ${event.path} was refused: ${event.why}`);
    case "skip-requested":
      return line("»", `skipping (${event.by})`);
    case "phase-skipped":
      return line("»", "phase skipped");
    case "phase-set-aside":
      return event.ref === undefined
        ? undefined
        : line("⇢", `what it left is set aside (git show ${event.ref}); a further attempt brings it back`);
    case "run-completed":
      return line("𝄂", "run completed");
    case "run-failed":
      return line(
        "𝄂",
        `run failed: ${event.phases.length === 1 ? "phase" : "phases"} ${event.phases.join(", ")} not done`,
      );
    case "run-stopped":
      return line("𝄂", `run stopped: ${event.why}`);
    case "session-measured":
    case "checkpoint-reported":
    case "time-reached":
    case "tree-noted":
    case "tool-refused":
    case "command-issued":
    case "command-abandoned":
    case "turn-started":
    case "turn-ended":
    case "tool-finished":
    case "result-reported":
      return undefined;
    case "commit-skipped":
      return line("·", event.why === "nothing changed" ? "no changes to commit" : `no commit: ${event.why}`);
    default:
      return event satisfies never;
  }
}

/** Where Segno called it off, its own message says why. */
function sessionEndedText({ reason, message, swept }: FactOf<"session-ended">): string {
  const why = reason === "killed" && message !== undefined ? `: ${message}` : "";
  return `session ended: ${reason}${why}${swept > 0 ? `, ${swept} processes ended with it` : ""}`;
}
