/** Looks at what is about to be committed, as git would store it. */
import type { Git } from "./git.js";
import { type Finding, findSecrets } from "./secrets.js";
import type { TreeChange } from "./trees.js";

export interface SizeLimits {
  maxFileBytes: number;
  maxBinaryBytes: number;
}

/** No more of a text is searched than this; what is longer is too large to be committed anyway by default. */
const SEARCHED = 5_000_000;

export async function inspectChanges(git: Git, changes: readonly TreeChange[], limits: SizeLimits): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { path, kind, mode, blob } of changes) {
    // A link's target and a submodule's commit are no content.
    if (kind === "D" || mode === "120000" || mode === "160000") continue;
    const size = Number(await git.line(["cat-file", "-s", blob]));
    if (size > limits.maxFileBytes) {
      findings.push({ path, line: 0, what: `too large: ${megabytes(size)} (max_file_mb)` });
      continue;
    }
    const content = await git.raw(["cat-file", "blob", blob]);
    if (content.includes("\0")) {
      if (size > limits.maxBinaryBytes)
        findings.push({ path, line: 0, what: `a binary file of ${megabytes(size)} (max_binary_mb)` });
      continue;
    }
    findings.push(...(await findSecrets(path, content.slice(0, SEARCHED))));
  }
  return findings;
}

const megabytes = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(1)} MB`;

export const describeFinding = ({ path, line, what }: Finding): string =>
  `${path}${line > 0 ? `:${line}` : ""}: ${what}`;
