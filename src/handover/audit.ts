/** What an agent claims, held against git and the ledger. Nothing is taken out: what is contradicted is marked. */
import type { ChangedFile } from "../run/changed-file.js";
import type { Claims } from "./claims.js";

export interface Audited {
  claims: Claims;
  contradictions: string[];
}

export interface Evidence {
  /** Undefined: git could not be read, and nothing is held against it. */
  files: readonly ChangedFile[] | undefined;
  tasks: readonly { id: string; title: string }[];
  tasksDone: readonly string[];
}

/** A path: something with a folder or an ending, as people write them. */
const PATH = /(?:^|[\s`'"(])((?:[\w@.-]+\/)+[\w@.-]+|[\w@-]+\.[A-Za-z]\w{0,7})(?=$|[\s`'"):,;])/;

export function audit(claims: Claims, { files, tasks, tasksDone }: Evidence): Audited {
  const contradictions: string[] = [];
  const changed = files?.flatMap(({ path, from }) => (from === undefined ? [path] : [path, from]));
  const done = new Set(tasksDone);
  const byLength = tasks.map((task) => task.id).toSorted((a, b) => b.length - a.length);
  const mentioned = (item: string): string | undefined => byLength.find((id) => mentions(item, id));
  const mark = (item: string, why: string): string => {
    contradictions.push(`"${item.slice(0, 80)}": ${why}`);
    return `${item} [Segno: ${why}]`;
  };
  const completed = claims.completed.map((item) => {
    const path = PATH.exec(item)?.[1];
    if (path !== undefined && changed?.some((known) => samePath(known, path)) === false)
      return mark(item, `git shows no change of ${path}`);
    return item;
  });
  const notAgain = claims.do_not_redo.map((item) => {
    const id = mentioned(item);
    return id !== undefined && !done.has(id) ? mark(item, `task ${id} was never reported as done`) : item;
  });
  const remaining = claims.remaining.map((item) => {
    const id = mentioned(item);
    return id !== undefined && done.has(id) ? mark(item, `task ${id} was reported as done`) : item;
  });
  for (const { id } of tasks) {
    if (done.has(id) || claims.remaining.some((item) => mentions(item, id))) continue;
    contradictions.push(`Task ${id} is not done, and the previous session does not name it among what remains.`);
  }
  return { claims: { ...claims, completed, do_not_redo: notAgain, remaining }, contradictions };
}

/** A task id as a word of its own: 1.1 is not in 1.10. */
const mentions = (text: string, id: string): boolean =>
  new RegExp(`(?:^|[^\\w.])${id.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")}(?![\\w]|\\.\\w)`).test(text);

const samePath = (known: string, claimed: string): boolean =>
  known === claimed || claimed.endsWith(`/${known}`) || known.endsWith(`/${claimed}`);
