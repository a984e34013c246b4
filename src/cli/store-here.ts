/** Where this repository's runs are: on this machine and, where a team is set up, with it. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { FileStore } from "../store/file.js";
import type { Store } from "../store/store.js";
import { wordsOf } from "./words.js";

/** A team that cannot be reached is said, and its runs are not shown. */
export async function storeHere(top: string, flags: { json?: boolean } = {}): Promise<Store> {
  const here = new FileStore(top);
  if (!existsSync(join(top, ".segno", "team.yaml"))) return here;
  const { reachTeam, storeOf } = await import("./team.js");
  const reached = await reachTeam(top, flags);
  if (!reached.ok) {
    const { what, next } = wordsOf(reached.failure);
    console.error(`segno: only runs of this machine are seen. ${what}\n       ${next}`);
    return here;
  }
  const { BothStores } = await import("../store/both.js");
  return new BothStores(here, storeOf(reached.value, "a person"));
}
