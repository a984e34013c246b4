/** Looks at what is about to be committed, as git would store it. */

import { type Finding, findSecrets } from "../secrets/find.js";
import type { Git } from "./git.js";
import type { TreeChange } from "./trees.js";

export interface SizeLimits {
  maxFileBytes: number;
  maxBinaryBytes: number;
}

/** No more of a text is searched than this; what is longer is too large to be committed anyway by default. */
const SEARCHED = 5_000_000;

export async function inspectChanges(git: Git, changes: readonly TreeChange[], limits: SizeLimits): Promise<Finding[]> {
  const findings: Finding[] = [];
  // A link's target and a submodule's commit are no content.
  const stored = changes.filter(({ kind, mode }) => kind !== "D" && mode !== "120000" && mode !== "160000");
  if (stored.length === 0) return [];
  const input = stored.map(({ blob }) => `${blob}\n`).join("");
  const sizes = (await git.line(["cat-file", "--batch-check=%(objectsize)"], { input })).split("\n").map(Number);
  for (let at = 0; at < stored.length; at += AT_ONCE) {
    const some = stored
      .slice(at, at + AT_ONCE)
      .map((change, n) => inspectFile(git, change, sizes[at + n] ?? 0, limits));
    findings.push(...(await Promise.all(some)).flat());
  }
  return findings;
}

const AT_ONCE = 8;

async function inspectFile(git: Git, { path, blob }: TreeChange, size: number, limits: SizeLimits): Promise<Finding[]> {
  if (size > limits.maxFileBytes) return [{ path, line: 0, what: `too large: ${megabytes(size)} (max_file_mb)` }];
  const content = await git.raw(["cat-file", "blob", blob]);
  if (!content.includes("\0")) return findSecrets(path, content.slice(0, SEARCHED));
  return size > limits.maxBinaryBytes
    ? [{ path, line: 0, what: `a binary file of ${megabytes(size)} (max_binary_mb)` }]
    : [];
}

const megabytes = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(1)} MB`;

export const describeFinding = ({ path, line, what }: Finding): string =>
  `${path}${line > 0 ? `:${line}` : ""}: ${what}`;
