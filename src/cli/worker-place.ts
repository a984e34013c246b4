/** Where a worker keeps its clones, and what it is called: one process in a folder, one name in a team. */
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { homedir, hostname } from "node:os";
import { join } from "node:path";
import { bad, good, type Result } from "../engine/failure.js";
import { writeWhole } from "../store/atomic.js";
import { takeLock } from "../store/lock.js";
import type { SeenWorker } from "../store/postgres/store.js";

export interface Place {
  worker: string;
  folder: string;
  /** Tells it from whoever has the same name elsewhere. */
  instance: string;
  release: () => void;
}

const workerName = (name: string): string => name.replaceAll(/[^\w.-]+/g, "-");

/** A folder of its own; one that a dead worker left is taken up again, with its clones. */
function placeOf(repo: string, name: string): Place {
  const base = workerName(name);
  for (let n = 1; ; n++) {
    const worker = n === 1 ? base : `${base}-${n}`;
    const folder = join(stateFolder(), repo, worker);
    const locked = takeLock(folder, "lock", worker, new Date());
    if (locked.ok) return { worker, folder, instance: instanceOf(folder), release: () => locked.lock.release() };
  }
}

function instanceOf(folder: string): string {
  const path = join(folder, "instance");
  if (!existsSync(path)) writeWhole(path, randomBytes(4).toString("hex"));
  return readFileSync(path, "utf8").trim();
}

export const stateFolder = (): string =>
  join(process.env.XDG_STATE_HOME ?? join(process.env.HOME ?? homedir(), ".local", "state"), "segno", "team");

/** `name`: what the user calls it. */
export function placeIn(repo: string, there: readonly SeenWorker[], name: string | undefined): Result<Place> {
  if (name !== undefined && !/[A-Za-z0-9]/.test(name))
    return bad({
      type: "usage",
      what: `"${name}" is no name for a worker.`,
      fix: "Use letters and digits: --name rack-1",
    });
  const place = placeOf(repo, name ?? hostname());
  const { worker, instance } = place;
  if (name !== undefined && worker !== workerName(name)) {
    place.release();
    return taken(name, "on this machine");
  }
  const other = there.find((each) => each.worker === worker && !each.lost && each.instance !== instance);
  if (other === undefined) return good(place);
  place.release();
  if (name === undefined) return good(placeOf(repo, `${hostname()}-${instance}`));
  return taken(worker, `on ${other.host}`);
}

const taken = (name: string, where: string): Result<Place> =>
  bad({ type: "usage", what: `A worker ${name} is there already, ${where}.`, fix: "Give this one another --name." });
