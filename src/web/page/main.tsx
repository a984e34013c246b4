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
          <Sign /> Segno
        </a>
      </nav>
      {at.page === "runs" ? <RunsPage /> : <OfRun key={at.run} at={at} />}
    </>
  );
}

/** The sign itself; few fonts have it. */
const Sign = () => (
  <svg
    width="22"
    height="22"
    viewBox="0 0 24 24"
    fill="none"
    stroke="currentColor"
    stroke-width="2.2"
    aria-hidden="true"
  >
    <path d="M16 7c0-2.2-2-3.4-4-3.4S8 4.8 8 7c0 4.6 8 5 8 9.8 0 2.4-2 3.6-4 3.6s-4-1.2-4-3.4" />
    <path d="M5 20.5 19 3.5" stroke-width="1.6" />
    <circle cx="5.4" cy="11.4" r="1" />
    <circle cx="18.6" cy="12.6" r="1" />
  </svg>
);

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
