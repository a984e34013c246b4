/** Tasks of one phase with ids of their own: where a number stands twice, the second is called so. */
export function withOwnIds<T extends { task: { id: string } }>(boxes: readonly T[]): T[] {
  const taken = new Set<string>();
  return boxes.map((box) => {
    let { id } = box.task;
    for (let n = 2; taken.has(id); n++) id = `${box.task.id}-${n}`;
    taken.add(id);
    return id === box.task.id ? box : { ...box, task: { ...box.task, id } };
  });
}
