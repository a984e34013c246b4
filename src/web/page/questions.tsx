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
      {board.questions.map(({ id, phase, text, choices, until }) => (
        <article key={id}>
          <h2>Phase {phase} asks</h2>
          <p>{text}</p>
          <div class="choices">
            {choices.map(({ key, name, meaning }) => (
              <button
                key={key}
                type="button"
                disabled={!canSteer}
                onClick={() => void steer("answer", { question: id, answer: name }).then(setSaid)}
              >
                <strong>{name}</strong> {meaning}
              </button>
            ))}
          </div>
          <p class="hint">
            {canSteer ? "" : "Answer on the page of the live run, or with segno answer. "}Without an answer by{" "}
            {dateTime(until)} the cautious choice counts.
          </p>
        </article>
      ))}
      <p class="said" role="status">
        {said}
      </p>
    </section>
  );
}
