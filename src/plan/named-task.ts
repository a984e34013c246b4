/** Which task somebody means who does not name it by its id. */
import type { Task } from "./model.js";

/** The task with this id, else the only one whose title contains what was said, or that what was said begins with. */
export function namedTask(tasks: readonly Pick<Task, "id" | "title">[], said: string): string | undefined {
  const name = said.trim();
  if (tasks.some(({ id }) => id === name)) return name;
  const plain = (text: string): string =>
    text
      .toLowerCase()
      .replaceAll(/[`*_"']/g, "")
      .replaceAll(/\s+/g, " ")
      .trim();
  const word = plain(name).replace(/^(?:task|step)\s+/, "");
  if (word === "") return undefined;
  const begins = tasks.filter(({ id }) => new RegExp(`^${escaped(id.toLowerCase())}(?=$|[\\s:.)-])`).test(word));
  const byId = begins.toSorted((a, b) => b.id.length - a.id.length)[0];
  if (byId !== undefined) return byId.id;
  const titled = tasks.filter(({ title }) => plain(title).includes(word));
  return titled.length === 1 ? titled[0]?.id : undefined;
}

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
