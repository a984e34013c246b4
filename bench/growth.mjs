// The numbers of 30,179 calls of 501 public sessions, a row a call. A third of the sessions is held out of every fit.
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";

const isHeld = (session) => Number(session) % 3 === 0;

export function rowsOf() {
  const lines = gunzipSync(readFileSync(new URL("./data/context-growth.csv.gz", import.meta.url)))
    .toString()
    .trim()
    .split("\n");
  const columns = lines[0].split(",");
  return lines.slice(1).map((line) => {
    const cells = line.split(",");
    const row = Object.fromEntries(
      columns.map((name, index) => [
        name,
        name === "model" || name === "client_version" || name === "session" ? cells[index] : Number(cells[index] || 0),
      ]),
    );
    return {
      ...row,
      output_is_final: row.output_is_final === 1,
      compacted: row.before_compaction_pre_tokens > 0,
      held: isHeld(row.session),
    };
  });
}
