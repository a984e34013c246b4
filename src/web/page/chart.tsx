/** Context over time: one line per phase, the thresholds, and what happened. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Board } from "../../view/board.js";
import type { Mark } from "../../view/history.js";
import { percent, short, time } from "./format.js";
import { columnsOf, type Point, pointsOf, type Series, seriesOf } from "./series.js";

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

const colour = (index: number): string => `hsl(${(215 + index * 67) % 360} 65% ${index % 2 === 0 ? 52 : 45}%)`;

const css = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

interface Props {
  board: Board;
  tick: number;
  /** Show this phase alone. */
  only?: string;
}

export function Chart({ board, tick, only }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>();
  const drawn = useRef<{ board: Board; series: Series[]; chosen: Point | undefined }>({
    board,
    series: [],
    chosen: undefined,
  });
  const [chosen, choose] = useState<Point>();
  const series = useMemo(
    () => seriesOf(board).filter(({ phase }) => only === undefined || phase === only),
    [board, tick, only],
  );
  drawn.current = { board, series, chosen };
  const names = series.map(({ phase }) => phase).join("\n");
  const dark = useDark();

  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const begun = Date.parse(board.startedAt) / 1_000;
    const axis = { stroke: css("--soft"), grid: { stroke: css("--line"), width: 1 }, ticks: { stroke: css("--line") } };
    const made = new uPlot(
      {
        width: element.clientWidth,
        height: 300,
        legend: { show: false },
        cursor: { points: { show: true }, drag: { x: true, y: false } },
        scales: { x: { time: false }, y: { range: (_, __, max) => [0, Math.max(1_000, max * 1.1)] } },
        axes: [
          {
            ...axis,
            space: 90,
            values: (_, ticks) => ticks.map((t) => time(new Date((begun + t) * 1_000).toISOString()).slice(0, 8)),
          },
          { ...axis, size: 56, values: (_, ticks) => ticks.map(short) },
        ],
        series: [
          {},
          ...series.map(({ phase }, index) => ({
            label: `phase ${phase}`,
            stroke: colour(index),
            width: 2,
            points: { size: 4, fill: colour(index) },
          })),
        ],
        hooks: { draw: [(self) => decorate(self, drawn.current)] },
      },
      columnsOf(series) as uPlot.AlignedData,
      element,
    );
    plot.current = made;
    const resized = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: 300 }));
    resized.observe(element);
    const pick = (event: MouseEvent) => {
      const box = made.over.getBoundingClientRect();
      choose(nearest(made, drawn.current.series, event.clientX - box.left, event.clientY - box.top));
    };
    made.over.addEventListener("click", pick);
    return () => {
      resized.disconnect();
      made.over.removeEventListener("click", pick);
      made.destroy();
    };
  }, [names, board.startedAt, dark]);

  useEffect(() => {
    plot.current?.setData(columnsOf(series) as uPlot.AlignedData);
  }, [series]);
  useEffect(() => {
    plot.current?.redraw(false);
  }, [chosen]);

  const step = (by: number) => {
    const points = pointsOf(series);
    const at =
      chosen === undefined
        ? -1
        : points.findIndex((point) => point.t === chosen.t && point.session.id === chosen.session.id);
    const next = points[Math.min(points.length - 1, Math.max(0, at + by))];
    if (next !== undefined) choose(next);
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
        aria-valuemax={Math.max(1, ...series.flatMap(({ sessions }) => sessions.map(({ window }) => window)))}
        aria-valuenow={chosen?.tokens ?? 0}
        aria-valuetext={chosen === undefined ? "nothing chosen" : describe(chosen)}
        onKeyDown={(event) => {
          if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
          event.preventDefault();
          step(event.key === "ArrowRight" ? 1 : -1);
        }}
      />
      <ul class="legend">
        {series.map(({ phase }, index) => (
          <li key={phase}>
            <span class="dot" style={{ background: colour(index) }} /> phase {phase}
          </li>
        ))}
        <li>
          <span class="dash hard" /> handed over here
        </li>
        <li>
          <span class="dash soft" /> from here at a natural boundary
        </li>
      </ul>
      <Chosen board={board} point={chosen} />
      <Story board={board} phases={new Set(series.map(({ phase }) => phase))} />
    </section>
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

/** Canvases know no style sheet: they are drawn anew when the colours change. */
function useDark(): boolean {
  const query = useMemo(() => matchMedia("(prefers-color-scheme: dark)"), []);
  const [dark, setDark] = useState(query.matches);
  useEffect(() => {
    const changed = () => setDark(query.matches);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, [query]);
  return dark;
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
      {session.model === undefined ? "" : `, ${session.model}`}).
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

function nearest(plot: uPlot, series: readonly Series[], x: number, y: number): Point | undefined {
  let best: { point: Point; away: number } | undefined;
  for (const point of pointsOf(series)) {
    const away = Math.hypot(plot.valToPos(point.t, "x") - x, plot.valToPos(point.tokens, "y") - y);
    if (best === undefined || away < best.away) best = { point, away };
  }
  return best?.point;
}

/** Thresholds, marks and the chosen point, over the lines. */
function decorate(
  plot: uPlot,
  { board, series, chosen }: { board: Board; series: Series[]; chosen: Point | undefined },
): void {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio;
  const shown = series.flatMap(({ sessions }) => sessions);
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  const across = (tokens: number, stroke: string) => {
    const y = plot.valToPos(tokens, "y", true);
    ctx.beginPath();
    ctx.setLineDash([6 * ratio, 4 * ratio]);
    ctx.strokeStyle = stroke;
    ctx.lineWidth = ratio;
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    ctx.setLineDash([]);
  };
  for (const hard of new Set(shown.map((session) => session.hard))) if (hard > 0) across(hard, css("--bad"));
  for (const soft of new Set(shown.map((session) => session.soft))) if (soft > 0) across(soft, css("--warn"));
  ctx.font = `${14 * ratio}px sans-serif`;
  ctx.textAlign = "center";
  const phases = new Set(series.map(({ phase }) => phase));
  const begun = Date.parse(board.startedAt);
  for (const mark of board.marks) {
    if (mark.phase !== undefined && !phases.has(mark.phase)) continue;
    const x = plot.valToPos((Date.parse(mark.at) - begun) / 1_000, "x", true);
    const y = mark.tokens === undefined ? bbox.top + 16 * ratio : plot.valToPos(mark.tokens, "y", true) - 6 * ratio;
    ctx.fillStyle =
      mark.kind === "gate" || mark.kind === "failed"
        ? css("--bad")
        : mark.kind === "done"
          ? css("--good")
          : css("--ink");
    ctx.fillText(GLYPHS[mark.kind], x, y);
  }
  if (chosen !== undefined) {
    ctx.beginPath();
    ctx.strokeStyle = css("--ink");
    ctx.lineWidth = 2 * ratio;
    ctx.arc(plot.valToPos(chosen.t, "x", true), plot.valToPos(chosen.tokens, "y", true), 6 * ratio, 0, Math.PI * 2);
    ctx.stroke();
  }
  ctx.restore();
}
