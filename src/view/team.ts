/** Who does what on which machine, in words. */
import type { FactOf } from "../run/event.js";
import type { TeamWorker } from "../run/team.js";

export function workersText({ workers, lost }: Pick<FactOf<"workers-seen">, "workers" | "lost">): string {
  const there = workers.length === 0 ? "no worker is there" : `workers: ${workers.map(workerText).join(", ")}`;
  return lost.length === 0 ? there : `${lost.join(", ")} ${lost.length === 1 ? "was" : "were"} lost; ${there}`;
}

const workerText = ({ worker, slots, labels }: TeamWorker): string => {
  const words = [...(slots > 1 ? [`${slots} slots`] : []), ...labels];
  return words.length === 0 ? worker : `${worker} (${words.join(", ")})`;
};

export const takenText = ({ worker, from }: Pick<FactOf<"phase-taken">, "worker" | "from">): string =>
  from === undefined ? `taken by ${worker}` : `${worker} goes on with it; ${from} was lost`;
