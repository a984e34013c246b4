/** The runs of this repository. */
import { useEffect, useState } from "preact/hooks";
import { AGAIN_MS, fetchRuns, type Listed } from "./data.js";
import { dateTime, dollars, percent } from "./format.js";

export function RunsPage() {
  const [listed, setListed] = useState<Listed>();
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    const look = () =>
      void fetchRuns().then(
        (found) => {
          setListed(found);
          setProblem(undefined);
        },
        (error: Error) => setProblem(error.message),
      );
    look();
    const timer = setInterval(look, AGAIN_MS);
    return () => clearInterval(timer);
  }, []);
  if (problem !== undefined && listed === undefined)
    return <p class="panel">The runs cannot be listed: {problem}. Trying again.</p>;
  if (listed === undefined) return <p class="panel">Looking for runs …</p>;
  return (
    <main>
      <header class="run">
        <h1>Runs</h1>
        {problem === undefined ? null : (
          <p class="hint" role="status">
            As they were: {problem}. Trying again.
          </p>
        )}
      </header>
      <section class="panel scroll" tabIndex={0} role="group" aria-label="Runs">
        {listed.runs.length === 0 ? <p>No run yet. Begin one with segno run PLAN.md.</p> : null}
        <table>
          <thead>
            <tr>
              <th scope="col">Plan</th>
              <th scope="col">State</th>
              <th scope="col">Progress</th>
              <th scope="col">Cost</th>
              <th scope="col">Began</th>
              <th scope="col">Last event</th>
            </tr>
          </thead>
          <tbody>
            {listed.runs.map((row) => (
              <tr key={row.run}>
                <th scope="row">
                  <a href={`#/run/${encodeURIComponent(row.run)}`}>{row.title}</a>
                  <br />
                  <small>{row.run}</small>
                </th>
                <td class={`status ${row.status}`}>
                  {row.status === "running" && !row.live ? "interrupted" : row.status}
                </td>
                <td>
                  {row.phases.done}/{row.phases.total}
                  <span class="meter wide">
                    <span class="fill" style={{ width: `${percent(row.phases.done, row.phases.total)}%` }} />
                  </span>
                </td>
                <td>{dollars(row.cost_usd)}</td>
                <td>{dateTime(row.startedAt)}</td>
                <td>
                  {dateTime(row.last.at)} <small>{row.last.text}</small>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </main>
  );
}
