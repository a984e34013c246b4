/** @jsxImportSource react */
/** The live screen: everything a glance should tell, and the keys to intervene. */
import { Box, Text, useInput, useStdout } from "ink";
import { useEffect, useRef, useState } from "react";
import type { Board } from "../view/board.js";
import { clock } from "../view/numbers.js";
import type { OpenQuestion } from "../view/status.js";
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
  actions: Actions;
  /** Whether the run would go on without this terminal. */
  canDetach: boolean;
  /** The time, for runs that go on. */
  now(): number;
}

type Mode =
  | { type: "watching" }
  | { type: "quitting" }
  | { type: "skipping" }
  | { type: "answering"; question: number };

const COLOURS = { pending: "gray", running: "cyan", done: "green", failed: "red", skipped: "yellow" } as const;

export function Screen({ subscribe, board: current, said, actions, canDetach, now }: ScreenProps) {
  const { stdout } = useStdout();
  const [, redraw] = useState(0);
  const [size, setSize] = useState({ columns: stdout.columns || 80, rows: stdout.rows || 24 });
  const [mode, setMode] = useState<Mode>({ type: "watching" });
  const [verbose, setVerbose] = useState(false);
  const [stops, setStops] = useState(0);
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

  const over = board === undefined || !["running", "paused"].includes(board.status);
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
      case "answering": {
        const question = shown.questions[at.question];
        const choice = question?.choices.find((each) => each.key === letter);
        if (question === undefined) return turnTo({ type: "watching" });
        if (choice === undefined) return;
        turnTo({ type: "watching" });
        return actions.answer(question.id, choice.name);
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
      case "a":
        return shown.questions.length > 0 ? turnTo({ type: "answering", question: 0 }) : undefined;
      default:
        return undefined;
    }
  };

  if (board === undefined) return <Text>Reading the run …</Text>;
  const { columns, rows } = size;
  const sessions = currentSessions(board, 4);
  const [question] = board.questions;
  const asks = question === undefined ? 0 : 1 + question.choices.length;
  const notices = board.notices.slice(-Math.max(0, Math.min(3, Math.floor((rows - 12) / 6))));
  const fixed = 7 + sessions.length + asks + notices.length;
  const phaseRoom = Math.max(1, Math.min(board.phases.length, verbose ? 3 : Math.floor((rows - fixed) / 2)));
  const activityRoom = Math.max(0, rows - 1 - fixed - phaseRoom);
  return (
    <Box flexDirection="column" width={columns} height={rows - 1} overflow="hidden">
      <Header board={board} columns={columns} now={now()} over={over} />
      <Rule columns={columns} />
      <Phases board={board} rows={phaseRoom} columns={columns} />
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
      {notices.map(({ at, phase, text }) => (
        <Text key={`${at}${text}`} color="yellow" wrap="truncate">
          {cut(`! ${phase === undefined ? "" : `${phase}  `}${text}`, columns).trimEnd()}
        </Text>
      ))}
      {question === undefined ? null : (
        <Asked question={question} columns={columns} answering={mode.type === "answering"} />
      )}
      <Keys board={board} mode={mode} over={over} canDetach={canDetach} said={said()} columns={columns} />
    </Box>
  );
}

const Rule = ({ columns }: { columns: number }) => <Text dimColor>{"─".repeat(columns)}</Text>;

function Header({ board, columns, now, over }: { board: Board; columns: number; now: number; over: boolean }) {
  const took = clock((over ? Date.parse(board.now) : now) - Date.parse(board.startedAt));
  const status = board.stopping && !over ? "stopping" : board.status;
  const waits = board.limit === undefined ? "" : `  waits for a limit ${clock(Date.parse(board.limit.until) - now)}`;
  const right = `${status}  ${took}`;
  const left = board.title;
  return (
    <>
      <Box justifyContent="space-between" width={columns}>
        <Text bold wrap="truncate">
          {cut(left, Math.max(0, columns - right.length - 2)).trimEnd()}
        </Text>
        <Text
          color={board.status === "failed" ? "red" : board.status === "paused" || board.stopping ? "yellow" : "cyan"}
        >
          {right}
        </Text>
      </Box>
      <Text dimColor wrap="truncate">
        {`${budgetLine(board)}   run ${board.run}${waits}`}
      </Text>
    </>
  );
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

function Asked({ question, columns, answering }: { question: OpenQuestion; columns: number; answering: boolean }) {
  return (
    <Box flexDirection="column">
      <Text color="yellow" bold wrap="truncate">
        {cut(`? phase ${question.phase}: ${question.text}`, columns).trimEnd()}
      </Text>
      {question.choices.map(({ key, name, meaning }) => (
        <Text key={key} wrap="truncate" bold={answering}>
          {cut(`   ${key}  ${name.padEnd(9)} ${meaning}`, columns).trimEnd()}
        </Text>
      ))}
    </Box>
  );
}

const skippable = (board: Board) =>
  board.phases.filter(({ status }) => status === "running" || status === "pending" || status === "failed").slice(0, 9);

interface KeysProps {
  board: Board;
  mode: Mode;
  over: boolean;
  canDetach: boolean;
  said: string;
  columns: number;
}

function Keys({ board, mode, over, canDetach, said, columns }: KeysProps) {
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
      case "answering":
        return "Answer with the key of a choice; Esc leaves it open";
      default:
        if (over) return "The run is over: q leaves";
        return `p ${board.status === "paused" ? "go on" : "pause"}  s skip  x stop  v verbose${board.questions.length > 0 ? "  a answer" : ""}  o web page  q quit`;
    }
  })();
  const tail = said === "" || mode.type !== "watching" ? "" : `   ${said}`;
  return (
    <Text inverse wrap="truncate">
      {cut(` ${text}${tail}`, columns)}
    </Text>
  );
}
