/** The page: runs, a run, a phase. Which one stands in the address behind the #. */
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { fetchRuns, report, useBoard } from "./data.js";
import { PhasePage } from "./phase-page.js";
import { RunPage } from "./run-page.js";
import { RunsPage } from "./runs-page.js";

type Where = { page: "runs" } | { page: "run"; run: string } | { page: "phase"; run: string; phase: string };

function where(hash: string): Where {
  const [, run, phase] = /^#\/run\/([^/]+)(?:\/phase\/([^/]+))?$/.exec(hash) ?? [];
  if (run === undefined) return { page: "runs" };
  if (phase === undefined) return { page: "run", run: decodeURIComponent(run) };
  return { page: "phase", run: decodeURIComponent(run), phase: decodeURIComponent(phase) };
}

function App() {
  const [at, setAt] = useState(where(location.hash));
  useEffect(() => {
    const moved = () => {
      setAt(where(location.hash));
      scrollTo(0, 0);
    };
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);
  useEffect(() => {
    if (location.hash !== "") return;
    if (report !== undefined) location.replace(`#/run/${encodeURIComponent(report.board.run)}`);
    // The door of a live run leads to that run.
    else
      void fetchRuns().then(({ own }) => {
        if (own !== null) location.replace(`#/run/${encodeURIComponent(own)}`);
      });
  }, []);
  return (
    <>
      <nav>
        <a class="brand" href={report === undefined ? "#/" : `#/run/${encodeURIComponent(report.board.run)}`}>
          <span aria-hidden="true">𝄋</span> Segno
        </a>
      </nav>
      {at.page === "runs" ? <RunsPage /> : <OfRun key={at.run} at={at} />}
    </>
  );
}

function OfRun({ at }: { at: Exclude<Where, { page: "runs" }> }) {
  const live = useBoard(at.run);
  useEffect(() => {
    const asks = (live.board?.questions.length ?? 0) > 0 ? "? " : "";
    document.title = live.board === undefined ? "Segno" : `${asks}${live.board.title}: ${live.board.status}`;
  }, [live.tick]);
  return at.page === "run" ? (
    <RunPage run={at.run} live={live} />
  ) : (
    <PhasePage run={at.run} id={at.phase} live={live} />
  );
}

const root = document.getElementById("app");
if (root !== null) render(<App />, root);
