// Whole runs in memory, every phase started, worked on, verified, committed and done: what one decision and one event
// cost must not grow with the plan.
import { decide } from "../build/run/decide.js";
import { evolve } from "../build/run/evolve.js";
import { table } from "./measure.mjs";
import { runStarted } from "./run-started.mjs";

function planOf(count) {
  const phases = Array.from({ length: count }, (_, n) => ({
    id: String(n + 1),
    title: `phase ${n + 1}`,
    dependsOn: n < 10 ? [] : [String(n - 9)],
    tasks: [],
    gates: [{ id: "g1", name: "g1", check: { type: "command", command: "true" }, file: "P", line: 1 }],
    text: "",
    mark: undefined,
    complexity: undefined,
    files: [],
    criteria: [],
    readFirst: [],
    file: "P",
    line: 1,
  }));
  return { format: "master", title: "t", goal: "", file: "P", files: ["P"], phases };
}

function answers(command) {
  const { id, phase, attempt } = command;
  const place = { phase, attempt };
  switch (command.type) {
    case "start-phase":
      return [
        {
          type: "phase-started",
          command: id,
          ...place,
          head: "h",
          baseline: "b",
          staged: [],
          worktree: { folder: `/w/${phase}`, branch: phase },
        },
      ];
    case "start-session": {
      const at = { ...place, session: command.session };
      const result = {
        status: "completed",
        summary: "s",
        tasks_completed: [],
        tasks_remaining: [],
        files_modified: [],
        decisions: [],
      };
      return [
        { type: "session-started", ...at, purpose: "work", prompt: "sha256:0", promptTokens: 1, resumed: false },
        { type: "turn-started", ...at, turn: "work" },
        { type: "result-reported", ...at, result },
        { type: "turn-ended", command: id, ...at, end: { type: "finished" } },
      ];
    }
    case "end-session":
      return [
        { type: "session-ended", command: id, ...place, session: command.session, reason: command.reason, swept: 0 },
      ];
    case "run-gate":
      return [
        {
          type: "gate-finished",
          command: id,
          ...place,
          gate: "g1",
          name: "g1",
          round: 0,
          passed: true,
          exit: 0,
          ms: 1,
          why: "",
          output: "sha256:0",
        },
      ];
    case "inspect-phase":
      return [{ type: "phase-inspected", command: id, ...place, suspicions: [], unreported: [], undocumented: false }];
    case "commit":
      return [{ type: "commit-made", command: id, ...place, kind: command.kind, sha: id, files: 1, leftOut: [] }];
    default:
      return [{ type: "phase-merged", command: id, ...place, sha: id, into: "main", files: [], leftBehind: [] }];
  }
}

function run(count) {
  const plan = planOf(count);
  let state;
  let seq = 0;
  const append = (fact) => {
    state = evolve(state, { v: 2, seq: ++seq, at: "2026-01-01T00:00:00.000Z", epoch: 1, ...fact });
  };
  append(runStarted(plan, { parallel: 8 }, { parallel: 8 }));
  const open = [];
  let decisions = 0;
  const began = performance.now();
  while (state.status === "running") {
    for (const decision of decide(state)) {
      if (decision.type === "conclude") append(decision.fact);
      else {
        append({ type: "command-issued", phase: decision.command.phase, command: decision.command });
        open.push(decision.command);
      }
    }
    decisions++;
    const command = open.shift();
    if (command !== undefined) for (const fact of answers(command)) append(fact);
  }
  const us = (performance.now() - began) * 1_000;
  if (state.status !== "completed") throw new Error(`it ended ${state.status}`);
  return { us, decisions, events: seq };
}

run(1_000);
const rows = [10, 100, 1_000, 4_000].map((count) => ({ count, ...run(count) }));
const each = ({ us, decisions }) => us / decisions;
const base = each(rows[1]);
console.log("\ndecide: whole runs in memory, 8 phases at once");
console.log(
  table(
    ["phases", "events", "decisions", "µs a decision", "against 100 phases"],
    rows.map((row) =>
      [row.count, row.events, row.decisions, each(row).toFixed(1), (each(row) / base).toFixed(2)].map(String),
    ),
  ),
);
