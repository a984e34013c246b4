/** A phase: its sessions and what each handed over, its tools, gates, commits. All of it is text, whatever agents wrote. */
import { useEffect, useState } from "preact/hooks";
import type { PhaseDetail, SessionDetail } from "../../view/phase-page.js";
import { Chart } from "./chart.js";
import { fetchBlob, fetchPhase, type Live } from "./data.js";
import { between, short, span, time } from "./format.js";
import { VirtualList } from "./virtual-list.js";

export function PhasePage({ run, id, live }: { run: string; id: string; live: Live }) {
  const { board, tick } = live;
  const [detail, setDetail] = useState<PhaseDetail>();
  const [gone, setGone] = useState(false);
  const phase = board?.phases.find((each) => each.id === id);
  // Read again when something of weight happened.
  const weight = `${phase?.sessions}/${phase?.commits.length}/${phase?.gates.length}/${phase?.status}/${phase?.tasks.done}`;
  useEffect(() => {
    let over = false;
    void fetchPhase(run, id).then(
      (fetched) => {
        if (!over) setDetail(fetched);
      },
      () => {
        if (!over) setGone(true);
      },
    );
    return () => {
      over = true;
    };
  }, [run, id, weight]);
  if (gone && detail === undefined)
    return <p class="panel">The run is over, and its page with it: segno dashboard shows it.</p>;
  if (board === undefined || detail === undefined) return <p class="panel">Reading the phase …</p>;
  if (phase === undefined) return <p class="panel">There is no phase {id} in this run.</p>;
  return (
    <main>
      <p class="back">
        <a href={`#/run/${encodeURIComponent(run)}`}>← {board.title}</a>
      </p>
      <header class="run">
        <div>
          <h1>
            Phase {phase.id}: {phase.title}
          </h1>
          <p class="hint">
            {phase.status}
            {phase.doing === "" ? "" : `, ${phase.doing}`}, {phase.tasks.done} of {phase.tasks.total} tasks
            {phase.parts.length === 0 ? "" : `, split into ${phase.parts.join(", ")}`}
          </p>
        </div>
      </header>
      {phase.failure === undefined ? null : <p class="panel bad">{phase.failure.message}</p>}
      <Chart board={board} tick={tick} only={id} />
      <section class="panel" aria-label="Sessions">
        <h2>Sessions</h2>
        {detail.sessions.map((session, index) => (
          <Session key={session.id} run={run} session={session} n={index + 1} />
        ))}
      </section>
      <section class="panel" aria-label="Gates">
        <h2>Gates</h2>
        {detail.gates.length === 0 ? <p class="hint">None ran yet.</p> : null}
        {detail.gates.map((gate) => (
          <details key={gate.at + gate.name}>
            <summary class={gate.passed ? "good" : "bad"}>
              {gate.passed ? "✓" : "✗"} {gate.name}: {gate.why} ({span(gate.ms)}, {time(gate.at)})
            </summary>
            <Blob run={run} of={gate.output} />
          </details>
        ))}
        {detail.verdicts.map((verdict) => (
          <p key={verdict.criterion} class={verdict.passed ? "good" : "bad"}>
            {verdict.passed ? "✓" : "✗"} {verdict.criterion}: {verdict.why} {verdict.evidence}
          </p>
        ))}
        {detail.suspicions.map((text) => (
          <p key={text} class="bad">
            {text}
          </p>
        ))}
      </section>
      <section class="panel" aria-label="Progress and decisions">
        <h2>Progress and decisions</h2>
        <ul>
          {detail.progress.map((report) => (
            <li key={report.at + report.message}>
              {time(report.at)} {report.task === undefined ? "" : <strong>{report.task} </strong>}
              {report.message}
            </li>
          ))}
          {detail.decisions.map((decision) => (
            <li key={decision.at + decision.text}>
              {time(decision.at)} <em>decided:</em> {decision.text}
            </li>
          ))}
        </ul>
      </section>
      <section class="panel" aria-label="Commits">
        <h2>Commits</h2>
        {detail.commits.length === 0 ? <p class="hint">None yet.</p> : null}
        {detail.commits.map((commit) => (
          <details key={commit.sha}>
            <summary>
              <code>{commit.sha.slice(0, 9)}</code> {commit.kind}, {commit.files} files, {time(commit.at)}
              {commit.leftOut.length === 0 ? "" : `; left out: ${commit.leftOut.join(", ")}`}
            </summary>
            <pre tabIndex={0}>{commit.stat ?? "It is no longer in the repository."}</pre>
          </details>
        ))}
      </section>
      <section class="panel" aria-label="Tool calls">
        <h2>Tool calls</h2>
        <VirtualList
          items={detail.tools}
          label="Tool calls"
          row={(tool) => (
            <span class={tool.ok ? "" : "bad"}>
              <time dateTime={tool.at}>{time(tool.at)}</time> {tool.ok ? "·" : "✗"} <strong>{tool.tool}</strong>{" "}
              {tool.brief}
            </span>
          )}
        />
      </section>
    </main>
  );
}

function Session({ run, session, n }: { run: string; session: SessionDetail; n: number }) {
  const { usage, checkpoint } = session;
  const tokens = usage.input + usage.cacheRead + usage.cacheWrite + usage.output;
  return (
    <article class="session">
      <h3>
        {n}. {session.purpose}
        <small>
          {" "}
          {time(session.startedAt)}
          {session.endedAt === undefined
            ? ", running"
            : `, ${span(between(session.startedAt, session.endedAt))}, ${session.reason}`}
          , {session.calls} calls, {short(tokens)} tokens
          {session.model === undefined ? "" : `, ${session.agent ?? ""} ${session.model}`}
        </small>
      </h3>
      {session.boundary === undefined ? null : <p class="hint">Stopped: {session.boundary}</p>}
      {session.message === undefined ? null : <p class="bad">{session.message}</p>}
      <details>
        <summary>Prompt, about {session.promptTokens} tokens</summary>
        <Blob run={run} of={session.prompt} />
      </details>
      {checkpoint === undefined ? null : (
        <details open={checkpoint.contradictions.length > 0}>
          <summary>
            Checkpoint as the next session read it, {checkpoint.tokens} tokens, from the {checkpoint.source}
          </summary>
          {checkpoint.contradictions.length === 0 ? null : (
            <ul class="contradictions">
              {checkpoint.contradictions.map((claim) => (
                <li key={claim}>
                  <mark>Contradicted:</mark> {claim}
                </li>
              ))}
            </ul>
          )}
          <Blob run={run} of={checkpoint.text} mark={/\[Segno:|^Marked by Segno/} />
        </details>
      )}
    </article>
  );
}

/** A text of the journal, fetched when it comes into view. */
function Blob({ run, of, mark }: { run: string; of: string; mark?: RegExp }) {
  const [text, setText] = useState<string>();
  useEffect(() => {
    if (of === "sha256:") setText("");
    else void fetchBlob(run, of).then(setText);
  }, [run, of]);
  if (text === undefined) return <p class="hint">Reading …</p>;
  if (mark === undefined) return <pre tabIndex={0}>{text}</pre>;
  return (
    <pre tabIndex={0}>
      {text.split("\n").map((line, index) => (
        <span key={index}>
          {mark.test(line) ? <mark>{line}</mark> : line}
          {"\n"}
        </span>
      ))}
    </pre>
  );
}
