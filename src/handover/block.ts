/** A checkpoint in an answer's text: a `<checkpoint>` block, in code fences of any kind or none, closed or not. */
export function readBlock(answer: string): string | undefined {
  const open = /<checkpoint>/i.exec(answer);
  if (open === null) return undefined;
  const rest = answer.slice(open.index + open[0].length);
  const close = /<\/checkpoint>/i.exec(rest);
  const inside = close === null ? rest : rest.slice(0, close.index);
  const text = inside
    .split("\n")
    .filter((line) => !/^\s*(```|~~~)\w*\s*$/.test(line))
    .join("\n")
    .trim();
  return text === "" ? undefined : text;
}
