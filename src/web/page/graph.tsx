/** The plan as a graph: a column per wave, a card per phase, a line per dependency. */
import type { Board, BoardPhase } from "../../view/board.js";
import { percent } from "./format.js";

const WIDTH = 236;
const HEIGHT = 74;
const GAP_X = 44;
const GAP_Y = 14;

interface Placed {
  phase: BoardPhase;
  x: number;
  y: number;
}

/** The wave of a phase is one after the last of what it depends on; sub-phases stand with their phase. */
function place(phases: readonly BoardPhase[]): Map<string, Placed> {
  const known = new Map(phases.map((phase) => [phase.id, phase]));
  const waves = new Map<string, number>();
  const waveOf = (phase: BoardPhase): number => {
    const wave = waves.get(phase.id);
    if (wave !== undefined) return wave;
    waves.set(phase.id, 0);
    const parent = phase.part_of === undefined ? undefined : known.get(phase.part_of);
    const after = phase.dependsOn.flatMap((id) => known.get(id) ?? []).map((other) => waveOf(other) + 1);
    const own = parent === undefined ? Math.max(0, ...after) : waveOf(parent);
    waves.set(phase.id, own);
    return own;
  };
  const rows: number[] = [];
  return new Map(
    phases.map((phase) => {
      const wave = waveOf(phase);
      const row = rows[wave] ?? 0;
      rows[wave] = row + 1;
      return [phase.id, { phase, x: wave * (WIDTH + GAP_X), y: row * (HEIGHT + GAP_Y) }];
    }),
  );
}

const SYMBOLS: Record<BoardPhase["status"], string> = {
  pending: "○",
  running: "◐",
  stopped: "◐",
  done: "●",
  failed: "✗",
  skipped: "»",
};

export function Graph({ board }: { board: Board }) {
  const placed = place(board.phases);
  const all = [...placed.values()];
  const width = Math.max(WIDTH, ...all.map(({ x }) => x + WIDTH));
  const height = Math.max(HEIGHT, ...all.map(({ y }) => y + HEIGHT));
  const lines = all.flatMap(({ phase, x, y }) =>
    phase.dependsOn.flatMap((id) => {
      const from = placed.get(id);
      if (from === undefined || phase.part_of !== undefined) return [];
      const [x1, y1, x2, y2] = [from.x + WIDTH, from.y + HEIGHT / 2, x, y + HEIGHT / 2];
      return [`M${x1} ${y1} C${x1 + GAP_X / 2} ${y1} ${x2 - GAP_X / 2} ${y2} ${x2} ${y2}`];
    }),
  );
  return (
    <section class="panel" aria-label="The plan in waves">
      <h2>The plan</h2>
      <div class="graph" tabIndex={0} role="group" aria-label="Phases by wave">
        <div class="canvas" style={{ "--w": `${width}px`, "--h": `${height}px` }}>
          <svg width={width} height={height} aria-hidden="true">
            {lines.map((d) => (
              <path key={d} d={d} />
            ))}
          </svg>
          {all.map(({ phase, x, y }) => (
            <Card key={phase.id} board={board} phase={phase} x={x} y={y} />
          ))}
        </div>
      </div>
    </section>
  );
}

function Card({ board, phase, x, y }: Placed & { board: Board }) {
  const session = board.sessions.findLast(({ id }) => id === phase.live);
  const full = session === undefined ? 0 : percent(session.tokens, session.window);
  const asked = board.questions.some((question) => question.phase === phase.id);
  return (
    <a
      class={`card ${phase.status}${asked ? " asked" : ""}${phase.part_of === undefined ? "" : " part"}`}
      href={`#/run/${encodeURIComponent(board.run)}/phase/${encodeURIComponent(phase.id)}`}
      style={{ "--x": `${x}px`, "--y": `${y}px`, "--w": `${WIDTH}px`, "--h": `${HEIGHT}px` }}
    >
      <span class="name">
        <span class="symbol" aria-hidden="true">
          {SYMBOLS[phase.status]}
        </span>{" "}
        {phase.id} {phase.title}
      </span>
      <span class="state">
        {asked
          ? "asks"
          : phase.doing || (phase.status === "done" && !phase.verified ? "done, unverified" : phase.status)}
        , {phase.tasks.done}/{phase.tasks.total} tasks
        {phase.worker === undefined ? "" : `, on ${phase.worker}`}
      </span>
      {session === undefined ? null : (
        <span class="meter" title={`${full} % of the window`}>
          <span class="fill" style={{ width: `${Math.min(100, full)}%` }} />
          <span class="mark" style={{ left: `${percent(session.hard, session.window)}%` }} />
        </span>
      )}
    </a>
  );
}
