/** A journal as a run would leave it in the middle of its work, with fixed times: for frames that must not change. */
import { costAt, listPrice } from "../../src/context/prices.js";
import { prepareSegnoFolder } from "../../src/engine/runs.js";
import type { Phase } from "../../src/plan/model.js";
import type { Fact } from "../../src/run/event.js";
import { FileStore } from "../../src/store/file.js";
import { runStarted } from "./run-started.js";
import { whenOver } from "./scratch.js";

export const SAMPLE = "20260102-030405-abcd";

const phase = (id: string, title: string, tasks: number, dependsOn: string[]): Phase => ({
  id,
  title,
  dependsOn,
  tasks: Array.from({ length: tasks }, (_, n) => ({
    id: `${id}.${n + 1}`,
    title: `task ${n + 1}`,
    ticked: false,
    file: "PLAN.md",
    line: 1,
  })),
  gates: [],
  text: "",
  mark: undefined,
  complexity: undefined,
  files: [],
  criteria: [],
  readFirst: [],
  file: "PLAN.md",
  line: 1,
});

const reading = (tokens: number) => ({
  tokens,
  window: 200_000,
  percent: tokens / 2_000,
  source: "exact" as const,
  margin: 0,
});

function session(of: string, n: number, tokens: readonly number[]): Fact[] {
  const place = { phase: of, attempt: 1, session: `${of}/a1/session/${n}` };
  const model = "claude-sonnet-4-5";
  const command = { type: "start-session", id: place.session, ...place, purpose: "work", n, opening: "work" } as const;
  return [
    { type: "command-issued", phase: of, command },
    { type: "session-started", ...place, purpose: "work", prompt: "sha256:", promptTokens: 900, resumed: false },
    { type: "session-ready", ...place, agentSession: "a", model, window: 200_000, compactAt: 167_000 },
    { type: "turn-started", ...place, turn: "work" },
    ...tokens.flatMap((count, index): Fact[] => [
      {
        type: "call-made",
        ...place,
        call: `${n}/${index}`,
        model,
        usage: { input: 20, cacheRead: count - 900, cacheWrite: 600, output: 280 },
        cost: costAt(listPrice(3, 15), { input: 20, cacheRead: count - 900, cacheWrite: 600, output: 280 }),
        subagent: false,
        reading: reading(count),
      },
      {
        type: "tool-finished",
        ...place,
        kind: index % 2 === 0 ? "read" : "shell",
        tool: index % 2 === 0 ? "Read" : "Bash",
        brief: index % 2 === 0 ? `src/part-${index}.ts` : "npm test",
        ok: index % 5 !== 3,
        subagent: false,
      },
    ]),
  ];
}

const handedOver = (of: string, n: number): Fact[] => {
  const place = { phase: of, attempt: 1, session: `${of}/a1/session/${n}` };
  return [
    {
      type: "checkpoint-saved",
      ...place,
      checkpoint: "sha256:",
      source: "tool",
      tokens: 812,
      contradictions: [],
    },
    { type: "session-ended", command: "", ...place, reason: "handed-over", swept: 0 },
    {
      type: "commit-made",
      command: "",
      phase: of,
      attempt: 1,
      kind: "handover",
      sha: `${n}fedcba987654321`,
      files: 4,
      leftOut: [],
    },
  ];
};

const climb = (from: number, to: number, calls: number): number[] =>
  Array.from({ length: calls }, (_, n) => Math.round(from + ((to - from) * n) / (calls - 1)));

export function sampleFacts(): Fact[] {
  const plan = {
    format: "master" as const,
    title: "Rewrite the importer",
    goal: "",
    file: "PLAN.md",
    files: ["PLAN.md"],
    phases: [
      phase("1", "Read the old formats", 4, []),
      phase("2", "The new pipeline", 9, ["1"]),
      phase("3", "Move the callers", 5, ["2"]),
      phase("4", "Documents", 2, ["3"]),
    ],
  };
  const started = (id: string): Fact[] => {
    const place = { phase: id, attempt: 1 };
    const command = `${id}/a1/start`;
    return [
      { type: "command-issued", phase: id, command: { type: "start-phase", id: command, ...place } },
      { type: "phase-started", command, ...place, head: "h", baseline: "b", staged: [] },
    ];
  };
  const task = (of: string, n: number, id: string): Fact => ({
    type: "progress-reported",
    phase: of,
    attempt: 1,
    session: `${of}/a1/session/${n}`,
    message: `Finished ${id}`,
    task: id,
  });
  return [
    runStarted(plan, { context_soft: 65 }, { run: SAMPLE }),
    ...started("1"),
    ...session("1", 1, climb(24_000, 96_000, 9)),
    ...["1.1", "1.2", "1.3", "1.4"].map((id) => task("1", 1, id)),
    {
      type: "session-ended",
      command: "",
      phase: "1",
      attempt: 1,
      session: "1/a1/session/1",
      reason: "result",
      swept: 0,
    },
    {
      type: "gate-finished",
      command: "",
      phase: "1",
      attempt: 1,
      gate: "g",
      name: "tests",
      round: 0,
      passed: true,
      exit: 0,
      ms: 4_000,
      why: "exit 0",
      output: "sha256:",
    },
    { type: "phase-done", phase: "1", attempt: 1, verified: true, tasksDone: ["1.1", "1.2", "1.3", "1.4"] },
    ...started("2"),
    ...session("2", 1, climb(26_000, 161_000, 12)),
    ...["2.1", "2.2", "2.3"].map((id) => task("2", 1, id)),
    ...handedOver("2", 1),
    ...session("2", 2, climb(31_000, 158_000, 12)),
    ...["2.4", "2.5"].map((id) => task("2", 2, id)),
    ...handedOver("2", 2),
    ...session("2", 3, climb(30_000, 104_000, 7)),
  ];
}

export const SAMPLE_QUESTION: Fact = {
  type: "question-asked",
  question: "2/a1/ask",
  kind: "gate",
  phase: "2",
  text: "Everything that can be run has passed in phase 2. Please look at: the output of the new pipeline",
  choices: [
    { key: "p", name: "pass", meaning: "it is as it should be" },
    { key: "f", name: "fail", meaning: "it is not: the agent repairs it" },
  ],
  fallback: "fail",
  minutes: 60,
};

/** Writes it as a run of this repository; `held`: as one that somebody conducts, which is this process. */
/** Its second phase, after a gate that did not pass. */
export const SAMPLE_FAILURE: readonly Fact[] = [
  {
    type: "gate-finished",
    command: "2/a1/gate/r0/g",
    phase: "2",
    attempt: 1,
    gate: "g",
    name: "tests",
    round: 0,
    passed: false,
    exit: 1,
    ms: 1,
    why: "exit 1",
    output: "sha256:",
    tail: "AssertionError: expected 9998 to be 10000",
  },
  {
    type: "phase-failed",
    phase: "2",
    attempt: 1,
    category: "gate_failed",
    message: "tests",
    recommendation: "ask",
  },
  { type: "run-failed", phases: ["2"] },
];

export async function writeSample(top: string, facts: readonly Fact[], held = false): Promise<void> {
  prepareSegnoFolder(top);
  let seconds = 0;
  const now = () => new Date(Date.parse("2026-01-02T03:04:05Z") + seconds++ * 20_000);
  const journal = await new FileStore(top, now).create(SAMPLE, { epoch: 1, redact: (text) => text });
  for (const fact of facts) journal.append([fact]);
  await journal.close();
  if (!held) return;
  const locked = await new FileStore(top).lock(SAMPLE);
  if (locked.ok) whenOver(() => locked.lock.release());
}
