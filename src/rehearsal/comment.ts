/** A line that says what the stand-in did, in a form that leaves a file of this kind valid. */
const LINE: Record<string, string> = {
  "//": "ts tsx mts cts js jsx mjs cjs java c h cc cpp hpp cs go rs swift kt kts scala dart php proto",
  "#": "py sh bash zsh rb pl r yaml yml toml tf ini conf dockerfile makefile mk ex exs jl",
  "--": "sql lua hs elm",
};
const AROUND: Record<string, readonly [string, string]> = {
  css: ["/* ", " */"],
  scss: ["/* ", " */"],
  html: ["<!-- ", " -->"],
  xml: ["<!-- ", " -->"],
  svg: ["<!-- ", " -->"],
  vue: ["<!-- ", " -->"],
};
const PLAIN = new Set(["md", "txt", "rst", "adoc", "csv", ""]);

/** Undefined where nothing can be added to such a file without harm. */
export function commentIn(path: string, text: string): string | undefined {
  const kind = (/\.([\w]+)$/.exec(path)?.[1] ?? "").toLowerCase();
  const around = AROUND[kind];
  if (around !== undefined) return `${around[0]}${text}${around[1]}`;
  const line = Object.keys(LINE).find((mark) => LINE[mark]?.split(" ").includes(kind));
  if (line !== undefined) return `${line} ${text}`;
  return PLAIN.has(kind) ? text : undefined;
}

/** The whole of a new file of this kind. */
export const newFile = (path: string, text: string): string =>
  `${path.endsWith(".json") ? "{}" : (commentIn(path, text) ?? text)}\n`;
