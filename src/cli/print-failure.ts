/** Why a command cannot do what it was asked: in words, or as JSON. */
import type { Failure } from "../engine/failure.js";
import { EXIT } from "./exit.js";
import { wordsOf } from "./words.js";

export function printFailure(failure: Failure, json: boolean): number {
  const words = wordsOf(failure);
  if (json)
    console.log(JSON.stringify({ type: "error", failure, message: words.what, why: words.why, next: words.next }));
  else console.error(`\nsegno: ${words.what}\n\n${words.why}\n\n${words.next}\n`);
  return failure.type === "database-away" ? EXIT.tryAgain : EXIT.usage;
}
