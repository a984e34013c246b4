/** What people wrote for Segno, as it was when the run was taken up: an agent that cleans up must not take it away. */
import { existsSync, lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { lastAttempt } from "../run/phase.js";
import type { HeldRun } from "./held-run.js";
import { segnoFolder } from "./runs.js";

export interface KeptFile {
  content: Buffer;
  mode: number;
}

const LARGEST = 1024 * 1024;

/** Segno's own: what it writes and takes away by itself. */
const OURS = /\/HANDOFF[^/]*\.md$|\.part$/;

/** Before a phase begins: what is there now. What an agent took away is back by then; what is gone, the user took away. */
export function keepAgain(held: HeldRun): void {
  held.keptFiles = keepFiles(held.top, held.run.state.plan.files);
}

/** After an interruption also what the phases under way began with: it may have been deleted in that moment. */
export async function filesToKeep({ run, git, top, interrupted }: HeldRun): Promise<Map<string, KeptFile>> {
  const { plan, readiness, phases } = run.state;
  const now = keepFiles(top, plan.files);
  if (!interrupted) return now;
  for (const id of readiness.underWay) {
    const origin = lastAttempt(phases.get(id))?.origin;
    if (origin === undefined || origin.worktree !== undefined) continue;
    const listed = await git.attempt([
      "ls-tree",
      "-r",
      "-z",
      "--name-only",
      origin.baseline,
      "--",
      ".segno",
      ...plan.files,
    ]);
    for (const path of listed.stdout.split("\0").filter((name) => name !== "" && !now.has(name) && !OURS.test(name))) {
      const blob = await git.attempt(["cat-file", "blob", `${origin.baseline}:${path}`]);
      if (blob.ok) now.set(path, { content: Buffer.from(blob.stdout), mode: 0o644 });
    }
  }
  return now;
}

function keepFiles(top: string, planFiles: readonly string[]): Map<string, KeptFile> {
  const folder = segnoFolder(top);
  const own = existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: "utf8" }) : [];
  const kept = new Map<string, KeptFile>();
  for (const path of [...own.map((name) => `.segno/${name}`), ...planFiles]) {
    const full = join(top, path);
    const found = lstatSync(full, { throwIfNoEntry: false });
    if (found?.isFile() !== true || found.size > LARGEST || OURS.test(path)) continue;
    try {
      kept.set(path, { content: readFileSync(full), mode: found.mode & 0o777 });
    } catch {
      // What cannot be read cannot be put back.
    }
  }
  return kept;
}
