/** @jsxImportSource react */
/** The live screen: everything a glance should tell, and the keys to intervene. */
import { Box, Text, useInput, useStdout } from "ink";
import { useEffect, useRef, useState } from "react";
import { type AskedLines, askedLines } from "../view/asked.js";
import type { Board } from "../view/board.js";
import { failingGates } from "../view/failure.js";
import { clock } from "../view/numbers.js";
import { statusWords } from "../view/status.js";
import { wrap } from "../view/wrap.js";
import { budgetLine, currentSessions, cut, gaugeLine, phaseRows, SYMBOLS, sawtooth } from "./parts.js";

export type Act = "pause" | "continue" | "stop";

export interface Actions {
  steer(act: Act): void;
  skip(phase: string): void;
  answer(question: string, choice: string): void;
  openPage(): void;
  /** Leaves the screen; the run goes on. */
  detach(): void;
  /** At once, whatever is going on. */
  kill(): void;
}

export interface ScreenProps {
  subscribe(listener: () => void): () => void;
  board(): Board | undefined;
  /** What the run said to the last key. */
  said(): string;
  /** Nobody conducts the run any more, though it is not over. */
  interrupted(): boolean;
  actions: Actions;
  /** Whether the run would go on without this terminal. */
  canDetach: boolean;
  /** The time, for runs that go on. */
  now(): number;
}

type Mode = { type: "watching" } | { type: "quitting" } | { type: "skipping" };

const COLOURS = {
  pending: "gray",
  running: "cyan",
  stopped: "yellow",
  done: "green",
  failed: "red",
  skipped: "yellow",
} as const;

export function Screen({ subscribe, board: current, said, interrupted, actions, canDetach, now }: ScreenProps) {
  const { stdout } = useStdout();
  const [, redraw] = useState(0);
  const [size, setSize] = useState({ columns: stdout.columns || 80, rows: stdout.rows || 24 });
  const [mode, setMode] = useState<Mode>({ type: "watching" });
  const [verbose, setVerbose] = useState(false);
  const [stops, setStops] = useState(0);
  const [asked, setAsked] = useState(0);
  const board = current();

  useEffect(() => subscribe(() => redraw((n) => n + 1)), [subscribe]);
  useEffect(() => {
    const timer = setInterval(() => redraw((n) => n + 1), 1_000);
    return () => clearInterval(timer);
  }, []);
  useEffect(() => {
    const resized = () => setSize({ columns: stdout.columns || 80, rows: stdout.rows || 24 });
    stdout.on("resize", resized);
    return () => {
      stdout.off("resize", resized);
    };
  }, [stdout]);

  const over = board === undefined || !["running", "paused"].includes(board.status) || interrupted();
  const entered = useRef(mode);
  const turnTo = (next: Mode): void => {
    entered.current = next;
    setMode(next);
  };
  useInput((input, key) => {
    if (key.ctrl && input === "c") {
      if (over) return actions.detach();
      setStops(stops + 1);
      return stops === 0 ? actions.steer("stop") : actions.kill();
    }
    if (board === undefined) return input === "q" ? actions.detach() : undefined;
    if (key.escape) return turnTo({ type: "watching" });
    // What was typed quickly comes at once.
    for (const letter of input) pressed(letter, board);
    return undefined;
  });

  const pressed = (letter: string, shown: Board): void => {
    const at = entered.current;
    switch (at.type) {
      case "quitting":
        turnTo({ type: "watching" });
        if (letter === "d" && canDetach) actions.detach();
        if (letter === "x") actions.steer("stop");
        return;
      case "skipping": {
        turnTo({ type: "watching" });
        const phase = skippable(shown)[Number(letter) - 1];
        if (phase !== undefined) actions.skip(phase.id);
        return;
      }
      default:
        return watching(letter, shown);
    }
  };

  const watching = (letter: string, shown: Board): void => {
    switch (letter) {
      case "q":
        return over ? actions.detach() : turnTo({ type: "quitting" });
      case "p":
        return actions.steer(shown.status === "paused" ? "continue" : "pause");
      case "x":
        return actions.steer("stop");
      case "s":
        return turnTo({ type: "skipping" });
      case "v":
        return setVerbose((before) => !before);
      case "o":
        return actions.openPage();
      case "n":
        return setAsked((before) => before + 1);
      default: {
        // Answers have keys of their own.
        const question = shown.questions[asked % Math.max(1, shown.questions.length)];
        const choice = /^[1-9]$/.test(letter) ? question?.choices[Number(letter) - 1] : undefined;
        return question === undefined || choice === undefined ? undefined : actions.answer(question.id, choice.name);
      }
    }
  };

  if (board === undefined) return <Text>Reading the run …</Text>;
  const { columns, rows } = size;
  const sessions = currentSessions(board, 4);
  const of = board.questions.length;
  const question = over ? undefined : board.questions[asked % Math.max(1, of)];
  const lines = question === undefined ? undefined : askedLines(question, { n: (asked % of) + 1, of }, columns);
  const asks = lines === undefined ? 0 : lines.text.length + lines.choices.length + 1;
  const notices = board.notices.slice(-Math.max(0, Math.min(3, Math.floor((rows - 12) / 6))));
  const answer = said() === "" ? [] : wrap(said(), columns);
  const failing = failingLines(board, columns, rows >= 30 ? 6 : 3);
  const report = rows >= 30 && failing.length === 0 && !verbose ? (board.report?.lines ?? []) : [];
  const fixed = 7 + sessions.length + asks + notices.length + answer.length + failing.length + report.length;
  const phaseRoom = Math.max(1, Math.min(board.phases.length, verbose ? 3 : Math.floor((rows - fixed) / 2)));
  const activityRoom = Math.max(0, rows - 1 - fixed - phaseRoom);
  return (
    <Box flexDirection="column" width={columns} height={rows - 1} overflow="hidden">
      <Header board={board} columns={columns} now={now()} interrupted={interrupted()} />
      <Rule columns={columns} />
      <Phases board={board} rows={phaseRoom} columns={columns} />
      {failing.map((line) => (
        <Text key={line} color="red" wrap="truncate">
          {line}
        </Text>
      ))}
      <Rule columns={columns} />
      {sessions.map((session) => (
        <Text key={session.id} wrap="truncate">
          {gaugeLine(session, columns)}
        </Text>
      ))}
      <Text dimColor wrap="truncate">
        {sawtooth(board, columns)}
      </Text>
      <Rule columns={columns} />
      <Activities board={board} rows={activityRoom} columns={columns} />
      {report.map((line) => (
        <Text key={line} dimColor wrap="truncate">
          {cut(`after phase ${board.report?.phase}  ${line}`, columns).trimEnd()}
        </Text>
      ))}
      {notices.map(({ at, phase, text }) => (
        <Text key={`${at}${text}`} color="yellow" wrap="truncate">
          {cut(`! ${phase === undefined ? "" : `${phase}  `}${text}`, columns).trimEnd()}
        </Text>
      ))}
      {lines === undefined ? null : <Asked lines={lines} />}
      {answer.map((line) => (
        <Text key={line} color="cyan" wrap="truncate">
          {line}
        </Text>
      ))}
      <Keys board={board} mode={mode} over={over} interrupted={interrupted()} canDetach={canDetach} columns={columns} />
    </Box>
  );
}

const Rule = ({ columns }: { columns: number }) => <Text dimColor>{"─".repeat(columns)}</Text>;

interface HeaderProps {
  board: Board;
  columns: number;
  now: number;
  interrupted: boolean;
}

function Header({ board, columns, now, interrupted }: HeaderProps) {
  const over = interrupted || !["running", "paused"].includes(board.status);
  const took = clock((over ? Date.parse(board.now) : now) - Date.parse(board.startedAt));
  const status = interrupted ? "interrupted" : statusWords(board);
  const waits = board.limit === undefined ? "" : `  waits for a limit ${clock(Date.parse(board.limit.until) - now)}`;
  const right = `${board.mode === "rehearsal" ? "REHEARSAL  " : ""}${status}  ${took}`;
  const left = board.title;
  return (
    <>
      <Box justifyContent="space-between" width={columns}>
        <Text bold wrap="truncate">
          {cut(left, Math.max(0, columns - right.length - 2)).trimEnd()}
        </Text>
        <Text color={board.status === "failed" || interrupted ? "red" : status === "running" ? "cyan" : "yellow"}>
          {right}
        </Text>
      </Box>
      <Text dimColor wrap="truncate">
        {`${budgetLine(board)}   run ${board.run}${waits}${teamWords(board)}`}
      </Text>
    </>
  );
}

/** Who is there; which of them does what stands beside the phases. */
function teamWords({ team }: Board): string {
  if (team === undefined) return "";
  const count = team.workers.length;
  const conducts = team.conductor === undefined ? "" : `, ${team.conductor} conducts`;
  return `   ${count} ${count === 1 ? "worker" : "workers"}${conducts}`;
}

function Phases({ board, rows, columns }: { board: Board; rows: number; columns: number }) {
  const shown = phaseRows(board, rows, columns);
  return (
    <>
      {shown.rows.map((row, index) => {
        const hidden =
          index === 0 && shown.above > 0
            ? `  +${shown.above}`
            : index === shown.rows.length - 1 && shown.below > 0
              ? `  +${shown.below}`
              : "";
        const rest = `${row.rest}${hidden}`;
        return (
          <Text key={row.id} wrap="truncate">
            <Text color={COLOURS[row.status]}>{SYMBOLS[row.status]}</Text>
            {` ${cut(row.name, Math.max(8, columns - [...rest].length - 3))} ${rest}`}
          </Text>
        );
      })}
    </>
  );
}

function Activities({ board, rows, columns }: { board: Board; rows: number; columns: number }) {
  const last = rows === 0 ? [] : board.activities.slice(-rows);
  return (
    <Box flexDirection="column" height={rows}>
      {last.map((activity, index) => (
        <Text key={`${activity.at}/${index}`} wrap="truncate" {...(activity.ok ? {} : { color: "red" })}>
          {cut(
            `${activity.at.slice(11, 19)}  ${cut(activity.phase ?? "", 4)} ${activity.symbol} ${activity.text}`,
            columns,
          ).trimEnd()}
        </Text>
      ))}
    </Box>
  );
}

function Asked({ lines: { text, choices, fallback } }: { lines: AskedLines }) {
  return (
    <Box flexDirection="column">
      {text.map((line) => (
        <Text key={line} color="yellow" bold wrap="truncate">
          {line}
        </Text>
      ))}
      {choices.map((line) => (
        <Text key={line} wrap="truncate">
          {line}
        </Text>
      ))}
      <Text dimColor wrap="truncate">
        {fallback}
      </Text>
    </Box>
  );
}

/** Under the phases: what the failing gates of failed ones printed last. */
const failingLines = (board: Board, columns: number, most: number): string[] =>
  board.phases
    .filter(({ failure }) => failure !== undefined)
    .flatMap((phase) =>
      failingGates(phase).flatMap(({ name, why, tail }) => [
        `  ${phase.id}  gate ${name}: ${why}`,
        ...tail.slice(-Math.max(1, most - 1)).map((line) => `     │ ${line}`),
      ]),
    )
    .slice(-most)
    .map((line) => cut(line, columns).trimEnd());

const skippable = (board: Board) =>
  board.phases.filter(({ status }) => status === "running" || status === "pending" || status === "failed").slice(0, 9);

interface KeysProps {
  board: Board;
  mode: Mode;
  over: boolean;
  interrupted: boolean;
  canDetach: boolean;
  columns: number;
}

function Keys({ board, mode, over, interrupted, canDetach, columns }: KeysProps) {
  const text = ((): string => {
    switch (mode.type) {
      case "quitting":
        return canDetach
          ? "Leave: d detach, the run goes on; x stop it gracefully; any other key stays"
          : "Leave: x stop it gracefully; any other key stays";
      case "skipping":
        return `Skip which? ${skippable(board)
          .map(({ id }, index) => `${index + 1} phase ${id}`)
          .join("  ")}  any other key: none`;
      default: {
        // The last part of its name is enough, and fits.
        if (interrupted)
          return `Nobody conducts this run any more. Go on: segno resume ${board.run.split("-").at(-1)}   q leaves`;
        if (over) return "The run is over: q leaves";
        const [first] = board.questions;
        const answers = first === undefined ? "" : `1-${first.choices.length} answer  `;
        const next = board.questions.length > 1 ? "n next question  " : "";
        return `${answers}${next}p ${board.status === "paused" ? "go on" : "pause"}  s skip  x stop  v verbose  o web page  q quit`;
      }
    }
  })();
  return (
    <Text inverse wrap="truncate">
      {cut(` ${text}`, columns)}
    </Text>
  );
}
