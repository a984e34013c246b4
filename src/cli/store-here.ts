/** Where this repository's runs are: on this machine and, where a team is set up, with it. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Failure } from "../engine/failure.js";
import { FileStore } from "../store/file.js";
import type { Store } from "../store/store.js";
import { wordsOf } from "./words.js";

export interface Here {
  store: Store;
  /** Why the team's runs are not among them. */
  away: Failure | undefined;
}

/** A team that cannot be reached is no reason not to see this machine's own runs. */
export async function storeHere(top: string, flags: { json?: boolean } = {}): Promise<Here> {
  const here = new FileStore(top);
  if (!existsSync(join(top, ".segno", "team.yaml"))) return { store: here, away: undefined };
  const { reachTeam, storeOf } = await import("./team.js");
  const reached = await reachTeam(top, flags);
  if (!reached.ok) return { store: here, away: reached.failure };
  const { BothStores } = await import("../store/both.js");
  return { store: new BothStores(here, storeOf(reached.value, "a person")), away: undefined };
}

/** For who goes on with what is here. */
export function sayAway(away: Failure | undefined): void {
  if (away === undefined) return;
  const { what, next } = wordsOf(away);
  console.error(`segno: only runs of this machine are seen. ${what}\n       ${next}`);
}
