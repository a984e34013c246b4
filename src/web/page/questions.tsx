/** What the run asks, answered here. */
import { useState } from "preact/hooks";
import type { Board } from "../../view/board.js";
import { steer } from "./data.js";
import { dateTime } from "./format.js";

export function Questions({ board, canSteer }: { board: Board; canSteer: boolean }) {
  const [said, setSaid] = useState("");
  if (board.questions.length === 0)
    return (
      <p class="said" role="status">
        {said}
      </p>
    );
  return (
    <section class="panel questions" aria-label="Questions">
      {board.questions.map(({ id, phase, text, choices, fallback, until }, index) => (
        <article key={id}>
          <h2>
            Phase {phase} asks{board.questions.length > 1 ? ` (${index + 1} of ${board.questions.length})` : ""}
          </h2>
          <p>{text}</p>
          <div class="choices">
            {choices.map(({ key, name, meaning }) => (
              <button
                key={key}
                type="button"
                disabled={!canSteer}
                onClick={() => void steer(board.run, "answer", { question: id, answer: name }).then(setSaid)}
              >
                <strong>{name}</strong> {meaning}
              </button>
            ))}
          </div>
          <p class="hint">
            {canSteer ? "" : "Nobody conducts the run now: segno resume asks again. "}Without an answer by{" "}
            {dateTime(until)}, <strong>{fallback}</strong> counts.
          </p>
        </article>
      ))}
      <p class="said" role="status">
        {said}
      </p>
    </section>
  );
}
