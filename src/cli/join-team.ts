/** How a worker becomes one of the team. Machines start together: a database that is not there yet is waited for. */
import { setTimeout as sleep } from "node:timers/promises";
import { bad, type Failure, good, type Result } from "../engine/failure.js";
import { isFileSystemError } from "../engine/file-system.js";
import type { Offer } from "../store/postgres/store.js";
import type { OpenTeam } from "../team/open.js";
import { connectFailure, mayNot, openTeamOf, type Reached, reach, storeOf, type TeamHere } from "./team.js";
import { wordsOf } from "./words.js";
import { type Place, placeIn } from "./worker-place.js";

const PATIENCE_MS = 60_000;
const AGAIN_MS = 1_000;

interface Member {
  place: Place;
  offer: Offer;
  team: OpenTeam;
}

/** `name`: what the user calls it. */
export async function joinTeam(
  here: TeamHere,
  name: string | undefined,
  offered: Omit<Offer, "instance">,
): Promise<Result<Member>> {
  const until = performance.now() + PATIENCE_MS;
  for (let isSaid = false; ; isSaid = true) {
    const joined = await tryToJoin(here, name, offered);
    if (joined.ok || joined.failure.type !== "database-away" || performance.now() > until) return joined;
    if (!isSaid) console.error(`${wordsOf(joined.failure).what}\nIt is waited for, a minute at most …`);
    await sleep(AGAIN_MS);
  }
}

async function tryToJoin(
  here: TeamHere,
  name: string | undefined,
  offered: Omit<Offer, "instance">,
): Promise<Result<Member>> {
  const reached = await reach(here);
  if (!reached.ok) return reached;
  const { database } = reached.value;
  let place: Place | undefined;
  try {
    const found = placeIn(here.settings.repo, await storeOf(reached.value, "").workers(), name);
    if (!found.ok) {
      await database.close();
      return found;
    }
    place = found.value;
    const offer = { ...offered, instance: place.instance };
    const team = await enter(reached.value, place, offer);
    if (!team.ok) place.release();
    return team.ok ? good({ place, offer, team: team.value }) : team;
  } catch (error) {
    place?.release();
    await database.close();
    if (isFileSystemError(error)) throw error;
    return bad(whyNot(here, error));
  }
}

/** Asked before the queues are opened: they look after themselves from then on, and who may not work could not end them. */
async function enter(reached: Reached, { worker }: Place, offer: Offer): Promise<Result<OpenTeam>> {
  await storeOf(reached, worker).sayAlive(offer);
  return openTeamOf(reached, { worker, supervises: true });
}

function whyNot({ settings, redact }: TeamHere, error: unknown): Failure {
  if (!mayNot(error)) return connectFailure(settings.url, error, redact);
  return {
    type: "usage",
    what: `The database lets nobody work as ${settings.url.user}: ${redact((error as Error).message)}`,
    fix: "Use a user that is a member of segno_worker (SEGNO_TEAM_USER says who this machine is); members of segno_viewer only look.",
  };
}
