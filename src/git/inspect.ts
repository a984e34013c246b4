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
  const sized = stored.map((change, n) => ({ ...change, size: sizes[n] ?? 0 }));
  for (const { path, size } of sized)
    if (size > limits.maxFileBytes)
      findings.push({ path, line: 0, what: `too large: ${megabytes(size)} (max_file_mb)` });
  for (const some of inPortions(sized.filter(({ size }) => size <= limits.maxFileBytes))) {
    const contents = await git.contents(some.map(({ blob }) => blob));
    for (const [n, file] of some.entries()) findings.push(...(await inspectFile(file, contents[n] ?? "", limits)));
  }
  return findings;
}

type Sized = TreeChange & { size: number };

/** Bytes that are held at once; a file that is larger comes alone. */
const PORTION = 16_000_000;

function inPortions(files: readonly Sized[]): Sized[][] {
  const portions: Sized[][] = [];
  let left = 0;
  for (const file of files) {
    if (file.size > left || portions.length === 0) {
      portions.push([]);
      left = PORTION;
    }
    portions.at(-1)?.push(file);
    left -= file.size;
  }
  return portions;
}

async function inspectFile({ path, size }: Sized, content: string, limits: SizeLimits): Promise<Finding[]> {
  if (!content.includes("\0")) return findSecrets(path, content.slice(0, SEARCHED));
  return size > limits.maxBinaryBytes
    ? [{ path, line: 0, what: `a binary file of ${megabytes(size)} (max_binary_mb)` }]
    : [];
}

const megabytes = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(1)} MB`;

export const describeFinding = ({ path, line, what }: Finding): string =>
  `${path}${line > 0 ? `:${line}` : ""}: ${what}`;
