/** Context over time: one line per session, the thresholds, and what happened; a lane per phase where several worked at once. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Board } from "../../view/board.js";
import type { Mark } from "../../view/history.js";
import type { BoardSession } from "../../view/readings.js";
import { percent, short, span, time } from "./format.js";
import { type Lane, type Layout, layOut, type MarkGroup } from "./lanes.js";

const GLYPHS: Record<Mark["kind"], string> = {
  handover: "▼",
  compaction: "⇊",
  limit: "◷",
  gate: "✗",
  question: "?",
  split: "⋔",
  merge: "⇄",
  failed: "✗",
  done: "✓",
};

/** Of several in one place the gravest is shown. */
const GRAVITY: Mark["kind"][] = [
  "failed",
  "gate",
  "question",
  "compaction",
  "limit",
  "split",
  "merge",
  "done",
  "handover",
];

const COLOURS = 8;

interface Props {
  board: Board;
  tick: number;
  /** Show this phase alone. */
  only?: string;
}

interface Point {
  t: number;
  tokens: number;
  session: BoardSession;
}

function pointsOf(sessions: readonly BoardSession[]): Point[] {
  const points = sessions.flatMap((session) =>
    Array.from({ length: session.points.length / 2 }, (_, n) => ({
      t: session.points[2 * n] as number,
      tokens: session.points[2 * n + 1] as number,
      session,
    })),
  );
  return points.sort((a, b) => a.t - b.t);
}

export function Chart({ board, tick, only }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const width = useWidth(place);
  const [chosen, choose] = useState<Point>();
  const sessions = useMemo(
    () => board.sessions.filter(({ phase, points }) => points.length > 0 && (only === undefined || phase === only)),
    [board, tick, only],
  );
  const layout = useMemo(() => layOut(board, sessions, width), [board, sessions, width]);
  if (sessions.length === 0) return null;
  const step = (by: number) => {
    const points = pointsOf(sessions);
    const at =
      chosen === undefined
        ? -1
        : points.findIndex((point) => point.t === chosen.t && point.session.id === chosen.session.id);
    const next = points[Math.min(points.length - 1, Math.max(0, at + by))];
    if (next !== undefined) choose(next);
  };
  const pick = (event: MouseEvent) => {
    const box = place.current?.getBoundingClientRect();
    if (box !== undefined) choose(nearest(layout, sessions, event.clientX - box.left, event.clientY - box.top));
  };
  return (
    <section class="panel" aria-label="Context over time">
      <h2>Context over time</h2>
      <div
        ref={place}
        class="chart"
        role="slider"
        tabIndex={0}
        aria-label="Readings of the context window; left and right arrows step through them"
        aria-valuemin={0}
        aria-valuemax={Math.max(1, ...sessions.map((session) => session.window))}
        aria-valuenow={chosen?.tokens ?? 0}
        aria-valuetext={chosen === undefined ? "nothing chosen" : describe(chosen)}
        onClick={pick}
        onKeyDown={(event) => {
          if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
          event.preventDefault();
          step(event.key === "ArrowRight" ? 1 : -1);
        }}
      >
        <Drawing board={board} layout={layout} chosen={chosen} />
      </div>
      <ul class="legend">
        {layout.lanes.length > 1
          ? null
          : layout.phases.map((phase, index) => (
              <li key={phase}>
                <span class={`dot line-${index % COLOURS}`} /> phase {phase}
              </li>
            ))}
        {layout.lanes.some(({ hard }) => hard.length > 0) ? (
          <li>
            <span class="dash hard" /> handed over here
          </li>
        ) : null}
        {layout.lanes.some(({ soft }) => soft.length > 0) ? (
          <li>
            <span class="dash soft" /> from here at a natural boundary
          </li>
        ) : null}
        {layout.cuts.length > 0 ? <li>{"// a wait, cut short"}</li> : null}
      </ul>
      <Chosen board={board} point={chosen} />
      <Story board={board} phases={new Set(layout.phases)} />
    </section>
  );
}

function useWidth(place: { current: HTMLDivElement | null }): number {
  const [width, setWidth] = useState(800);
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const resized = new ResizeObserver(() => setWidth(Math.max(240, element.clientWidth)));
    resized.observe(element);
    return () => resized.disconnect();
  }, [place]);
  return width;
}

function Drawing({ board, layout, chosen }: { board: Board; layout: Layout; chosen: Point | undefined }) {
  const { width, height, lanes, cuts, ticks, xOf } = layout;
  const begun = Date.parse(board.startedAt);
  const bottom = lanes.at(-1)?.bottom ?? 0;
  const lane = lanes.find(({ phase }) => phase === undefined || phase === chosen?.session.phase);
  return (
    <svg width={width} height={height} aria-hidden="true">
      {cuts.map(({ x, seconds }) => (
        <g key={x} class="cut">
          <rect x={x - 9} y={lanes[0]?.top ?? 0} width={18} height={bottom - (lanes[0]?.top ?? 0)} />
          <text x={x} y={bottom + 15} text-anchor="middle">
            {"//"}
          </text>
          <title>{`${span(seconds * 1_000)} in which nobody worked, cut short`}</title>
        </g>
      ))}
      {lanes.map((each) => (
        <LaneOf key={each.phase ?? ""} board={board} lane={each} width={width} />
      ))}
      {ticks.map(({ x, t }) => (
        <text key={x} class="axis" x={x} y={bottom + 15}>
          {time(new Date(begun + t * 1_000).toISOString())}
        </text>
      ))}
      {chosen === undefined || lane === undefined ? null : (
        <circle class="chosen" cx={xOf(chosen.t)} cy={yIn(lane, chosen.tokens)} r={6} />
      )}
    </svg>
  );
}

const yIn = ({ bottom, height, most }: Lane, tokens: number): number => bottom - (tokens / most) * height;

function LaneOf({ board, lane, width }: { board: Board; lane: Lane; width: number }) {
  const { phase, top, bottom, lines, hard, soft, groups } = lane;
  const title = board.phases.find(({ id }) => id === phase)?.title ?? "";
  const across = (tokens: number, kind: string, labelled = true) => (
    <g key={`${kind}${tokens}`} class={kind}>
      <line x1={52} x2={width - 12} y1={yIn(lane, tokens)} y2={yIn(lane, tokens)} />
      {labelled ? (
        <text class="axis" x={46} y={yIn(lane, tokens) + 4} text-anchor="end">
          {short(tokens)}
        </text>
      ) : null}
    </g>
  );
  const hasRoom = (tokens: number) => hard.every((other) => Math.abs(yIn(lane, tokens) - yIn(lane, other)) > 14);
  return (
    <g class="lane">
      {phase === undefined ? null : (
        <text class="label" x={52} y={top - 7}>
          {phase} {title.length > 40 ? `${title.slice(0, 39)}…` : title}
        </text>
      )}
      <line class="base" x1={52} x2={width - 12} y1={bottom} y2={bottom} />
      <text class="axis" x={46} y={bottom + 4} text-anchor="end">
        0
      </text>
      {hard.map((tokens) => across(tokens, "hard"))}
      {soft.map((tokens) => across(tokens, "soft", hasRoom(tokens)))}
      {hard.length > 0 ? null : across(Math.round(lane.most / 1.06), "window")}
      {lines.map(({ session, index, path }) => (
        <path key={session.id} class={`line line-${(phase === undefined ? index : 0) % COLOURS}`} d={path} />
      ))}
      {groups.map((group) => (
        <Group key={group.x} group={group} y={top + 13} />
      ))}
    </g>
  );
}

function Group({ group: { x, marks }, y }: { group: MarkGroup; y: number }) {
  const [gravest] = marks.toSorted((a, b) => GRAVITY.indexOf(a.kind) - GRAVITY.indexOf(b.kind));
  if (gravest === undefined) return null;
  const texts = marks.map(
    (mark) => `${time(mark.at)} ${mark.phase === undefined ? "" : `phase ${mark.phase}: `}${mark.text}`,
  );
  return (
    <g class={`mark ${gravest.kind}`}>
      <text x={x} y={y} text-anchor="middle">
        {GLYPHS[gravest.kind]}
        {marks.length > 1 ? <tspan class="count">{marks.length}</tspan> : null}
      </text>
      <title>{texts.join("\n")}</title>
    </g>
  );
}

/** The marks of the chart in words, newest first. */
function Story({ board, phases }: { board: Board; phases: ReadonlySet<string> }) {
  const marks = board.marks.filter((mark) => mark.phase === undefined || phases.has(mark.phase)).slice(-200);
  if (marks.length === 0) return null;
  return (
    <details class="story">
      <summary>What happened: {marks.length} marks</summary>
      <ol>
        {marks.toReversed().map((mark, index) => (
          <li key={`${mark.at}${index}`}>
            <span aria-hidden="true">{GLYPHS[mark.kind]}</span> {time(mark.at)}{" "}
            {mark.phase === undefined ? "" : `phase ${mark.phase}: `}
            {mark.text}
          </li>
        ))}
      </ol>
    </details>
  );
}

const describe = ({ session, tokens }: Point): string =>
  `phase ${session.phase}, ${short(tokens)} tokens, ${percent(tokens, session.window)} % of the window`;

/** The reading that was clicked, and what happened around it. */
function Chosen({ board, point }: { board: Board; point: Point | undefined }) {
  if (point === undefined)
    return <p class="hint">Click a point, or step with the arrow keys, to see the reading and what happened.</p>;
  const { session, t, tokens } = point;
  const at = Date.parse(board.startedAt) + t * 1_000;
  const near = board.marks
    .filter((mark) => mark.phase === undefined || mark.phase === session.phase)
    .map((mark) => ({ mark, away: Math.abs(Date.parse(mark.at) - at) }))
    .sort((a, b) => a.away - b.away)
    .slice(0, 3)
    .filter(({ away }) => away < Math.max(30_000, (Date.parse(board.now) - Date.parse(board.startedAt)) / 20));
  return (
    <div class="chosen" aria-live="polite">
      <strong>
        {short(tokens)} tokens, {percent(tokens, session.window)} % of {short(session.window)}
      </strong>{" "}
      at {time(new Date(at).toISOString())} in phase {session.phase}, session {session.id.split("/").at(-1)} (
      {session.purpose}
      {session.model === undefined ? "" : `, ${session.agent ?? ""} ${session.model}`}).
      {session.hard > 0 ? ` Handed over from ${short(session.hard)}.` : ""}
      <ul>
        {near.map(({ mark }) => (
          <li key={mark.at + mark.text}>
            {GLYPHS[mark.kind]} {time(mark.at)} {mark.text}
          </li>
        ))}
      </ul>
    </div>
  );
}

function nearest({ lanes, xOf }: Layout, sessions: readonly BoardSession[], x: number, y: number): Point | undefined {
  let best: { point: Point; away: number } | undefined;
  for (const point of pointsOf(sessions)) {
    const lane = lanes.find(({ phase }) => phase === undefined || phase === point.session.phase);
    if (lane === undefined) continue;
    const away = Math.hypot(xOf(point.t) - x, yIn(lane, point.tokens) - y);
    if (best === undefined || away < best.away) best = { point, away };
  }
  return best?.point;
}
