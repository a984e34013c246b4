/** A run: how it stands, what it asks, the plan, the chart, the totals, and what happened last. */
import { useEffect, useState } from "preact/hooks";
import type { Board } from "../../view/board.js";
import { failingGates, nextCommand } from "../../view/failure.js";
import { statusWords } from "../../view/status.js";
import { Chart } from "./chart.js";
import { fetchRuns, type Live, report, steer, useNow } from "./data.js";
import { between, dollars, short, span, time } from "./format.js";
import { Graph } from "./graph.js";
import { Questions } from "./questions.js";

export function RunPage({ run, live }: { run: string; live: Live }) {
  const { board, problem, tick, connected } = live;
  const steers = useSteers(run, board?.status, connected);
  if (problem !== undefined) return <p class="panel">This run cannot be shown: {problem}.</p>;
  if (board === undefined) return <p class="panel">Reading the run …</p>;
  return (
    <main>
      <Header board={board} connected={connected} />
      {steers ? <Controls board={board} /> : null}
      <Failures board={board} />
      <Questions board={board} canSteer={steers} />
      {board.limit === undefined ? null : (
        <p class="panel warn">
          A usage limit holds the run until {time(board.limit.until)}: {board.limit.message}
        </p>
      )}
      <Graph board={board} />
      <Chart board={board} tick={tick} />
      <Team board={board} />
      <Totals board={board} />
      <Activities board={board} />
      <LastReport board={board} />
      <Notices board={board} />
    </main>
  );
}

/** Whether somebody conducts the run, who can be told what to do. */
function useSteers(run: string, status: string | undefined, connected: boolean): boolean {
  const [live, setLive] = useState(false);
  const goesOn = status === "running" || status === "paused";
  useEffect(() => {
    // With the run its own server goes, too.
    if (report !== undefined || !goesOn) return;
    fetchRuns()
      .then(({ runs }) => setLive(runs.some((each) => each.run === run && each.live)))
      .catch(() => {});
  }, [run, goesOn, connected]);
  return live && goesOn;
}

function Header({ board, connected }: { board: Board; connected: boolean }) {
  const running = board.status === "running" || board.status === "paused";
  const now = useNow(running && report === undefined);
  const took =
    running && report === undefined ? now - Date.parse(board.startedAt) : between(board.startedAt, board.now);
  const { spent, budget } = board;
  return (
    <header class="run">
      <div>
        <h1>{board.title}</h1>
        <p class="hint">
          {board.plan}, run {board.run}, on {board.branch}
          {board.mode === "rehearsal" ? ", a REHEARSAL" : ""}
          {running && report === undefined && !connected ? ", connection lost: trying again" : ""}
        </p>
      </div>
      <dl>
        <div>
          <dt>State</dt>
          <dd class={`status ${board.status}`}>{statusWords(board)}</dd>
        </div>
        <div>
          <dt>Time</dt>
          <dd>{span(took)}</dd>
        </div>
        <div>
          <dt>Tokens</dt>
          <dd>
            {short(spent.total)} <small>of {short(budget.tokens)}</small>
          </dd>
        </div>
        <div>
          <dt>Cost</dt>
          <dd>
            {dollars(spent.cost_usd)} <small>of ${budget.cost_usd}</small>
          </dd>
        </div>
      </dl>
    </header>
  );
}

function Controls({ board }: { board: Board }) {
  const [said, setSaid] = useState("");
  const running = board.status === "running" || board.status === "paused";
  if (!running) return null;
  const act = (path: string, body: object = {}) => void steer(board.run, path, body).then(setSaid);
  const current = board.phases.find((phase) => phase.status === "running");
  return (
    <div class="controls">
      {board.status === "paused" ? (
        <button type="button" onClick={() => act("continue")}>
          Go on
        </button>
      ) : (
        <button type="button" onClick={() => act("pause")}>
          Pause
        </button>
      )}
      {current === undefined ? null : (
        <button type="button" onClick={() => act("skip", { phase: current.id })}>
          Skip phase {current.id}
        </button>
      )}
      <button type="button" disabled={board.stopping} onClick={() => act("stop")}>
        Stop
      </button>
      <span class="said" role="status">
        {said}
      </span>
    </div>
  );
}

function Totals({ board }: { board: Board }) {
  const { phases } = board;
  const handovers = board.phases
    .filter((phase) => phase.part_of === undefined)
    .reduce((sum, phase) => sum + phase.restarts, 0);
  const { spent } = board;
  return (
    <section class="panel" aria-label="Totals">
      <h2>Totals</h2>
      <p>
        {board.sessions.length} sessions, {handovers} handovers, {spent.calls} calls. Tokens: {short(spent.input)}{" "}
        input, {short(spent.cacheRead)} from the cache, {short(spent.cacheWrite)} into it, {short(spent.output)} output.
      </p>
      <div class="scroll" tabIndex={0} role="group" aria-label="Phases">
        <table>
          <thead>
            <tr>
              <th scope="col">Phase</th>
              <th scope="col">State</th>
              <th scope="col">Tasks</th>
              <th scope="col">Sessions</th>
              <th scope="col">Handovers</th>
              <th scope="col">Peak</th>
              <th scope="col">Tokens</th>
              <th scope="col">Cost</th>
              <th scope="col">Time</th>
              <th scope="col">Gates</th>
            </tr>
          </thead>
          <tbody>
            {phases.map((phase) => (
              <tr key={phase.id}>
                <th scope="row">
                  <a href={`#/run/${encodeURIComponent(board.run)}/phase/${encodeURIComponent(phase.id)}`}>
                    {phase.part_of === undefined ? "" : "↳ "}
                    {phase.id} {phase.title}
                  </a>
                </th>
                <td class={`status ${phase.status}`}>
                  {phase.status === "done" && !phase.verified ? "unverified" : phase.status}
                </td>
                <td>
                  {phase.tasks.done}/{phase.tasks.total}
                </td>
                <td>{phase.sessions}</td>
                <td>{phase.restarts}</td>
                <td>{Math.round(phase.peak_percent)} %</td>
                <td>{short(phase.tokens.total)}</td>
                <td>{dollars(phase.cost_usd)}</td>
                <td>
                  {phase.startedAt === undefined ? "" : span(between(phase.startedAt, phase.endedAt ?? board.now))}
                </td>
                <td>
                  {phase.gates.length === 0
                    ? "none"
                    : `${phase.gates.filter((gate) => gate.passed).length}/${phase.gates.length}`}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** Why, before anything else: the reason, what the gates printed last, and the command that comes next. */
function Failures({ board }: { board: Board }) {
  const failed = board.phases.filter((phase) => phase.failure !== undefined);
  if (failed.length === 0) return null;
  return (
    <section class="panel failure" aria-label="What failed">
      {failed.map((phase) => (
        <article key={phase.id}>
          <h2 class="bad">
            Phase {phase.id} failed ({phase.failure?.category})
          </h2>
          <p>{phase.failure?.message}</p>
          {failingGates(phase).map(({ name, why, tail }) => (
            <details key={name} open>
              <summary>
                Gate {name}: {why}
              </summary>
              {tail.length === 0 ? null : (
                <pre class="tail" tabIndex={0}>
                  {tail.join("\n")}
                </pre>
              )}
            </details>
          ))}
          <p>
            Next: <code>{nextCommand(phase, board)}</code>
          </p>
        </article>
      ))}
    </section>
  );
}

function Activities({ board }: { board: Board }) {
  if (board.activities.length === 0) return null;
  return (
    <section class="panel" aria-label="Last activities">
      <h2>Last activities</h2>
      <ol class="activities">
        {board.activities
          .slice(-30)
          .reverse()
          .map((activity, index) => (
            <li key={`${activity.at}${index}`} class={activity.ok ? "" : "bad"}>
              <time dateTime={activity.at}>{time(activity.at)}</time>
              <span class="phase">{activity.phase ?? ""}</span>
              <span aria-hidden="true">{activity.symbol}</span>
              <span class="text">{activity.text}</span>
            </li>
          ))}
      </ol>
    </section>
  );
}

function LastReport({ board }: { board: Board }) {
  if (board.report === undefined || board.report.lines.length === 0) return null;
  return (
    <details class="panel">
      <summary>After phase {board.report.phase}</summary>
      <ul>
        {board.report.lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </details>
  );
}

/** Who works where; there only for runs of a team. */
function Team({ board: { team } }: { board: Board }) {
  if (team === undefined) return null;
  return (
    <section class="panel">
      <h2>Workers</h2>
      <table>
        <thead>
          <tr>
            <th>Worker</th>
            <th>Phases</th>
            <th>Slots</th>
            <th>Agents</th>
            <th>Labels</th>
          </tr>
        </thead>
        <tbody>
          {team.workers.map(({ worker, phases, slots, agents, labels }) => (
            <tr key={worker}>
              <td>
                {worker}
                {worker === team.conductor ? " (conducts)" : ""}
              </td>
              <td>{phases.join(", ") || "none"}</td>
              <td>{slots}</td>
              <td>{agents.join(", ")}</td>
              <td>{labels.join(", ")}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {team.workers.length === 0 ? <p>No worker is there: start one with segno worker.</p> : null}
    </section>
  );
}

function Notices({ board }: { board: Board }) {
  const { notices } = board;
  if (notices.length === 0) return null;
  return (
    <details class="panel" open={notices.some(({ kind }) => kind !== "warning")}>
      <summary>
        {notices.length} {notices.length === 1 ? "notice" : "notices"}
      </summary>
      <ul>
        {notices.slice(-100).map(({ at, phase, text }) => (
          <li key={`${at}${text}`}>
            {phase === undefined ? "" : `Phase ${phase}: `}
            {text}
          </li>
        ))}
      </ul>
    </details>
  );
}
