/** What an independent session says of a phase: a pass without evidence is none. */
import type { CriterionVerdict } from "../run/event.js";

const EVIDENCE = /([\w@./-]+\.\w+|[\w@./-]+\/[\w@.-]+):(\d+)/;

export interface Judged {
  criterion: string;
  verdict: "pass" | "fail";
  evidence: string;
  why: string;
}

export function judgeVerdicts(
  criteria: readonly string[],
  judged: readonly Judged[],
  exists: (path: string) => boolean,
): CriterionVerdict[] {
  return criteria.map((criterion, index) => {
    const said =
      judged.find((each) => same(each.criterion, criterion)) ??
      judged.find((each) => each.criterion.trim() === String(index + 1));
    if (said === undefined) return { criterion, passed: false, evidence: "", why: "it was not judged" };
    const { evidence, why } = said;
    if (said.verdict === "fail") return { criterion, passed: false, evidence, why: why || "it is not met" };
    const path = EVIDENCE.exec(evidence)?.[1];
    if (path === undefined)
      return { criterion, passed: false, evidence, why: "called met without a file and line as evidence" };
    if (!exists(path))
      return { criterion, passed: false, evidence, why: `called met on the evidence of ${path}, which does not exist` };
    return { criterion, passed: true, evidence, why };
  });
}

const same = (a: string, b: string): boolean => plain(a) === plain(b) || plain(a).includes(plain(b));
const plain = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
