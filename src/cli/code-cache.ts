/**
 * Loads the bundle's files together with what V8 made of them when they were loaded before, so that a command answers at
 * once: reading and compiling them is most of what a short command does.
 *
 * Invariants
 * 1. What is kept is named after the text it was made from and the Node that made it; anything else is not looked at.
 * 2. A file that is loaded here and one that is loaded by `require` are the same one.
 * 3. Whatever goes wrong with what is kept costs time, never the command.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { Script } from "node:vm";
import { crc32 } from "node:zlib";

type Run = (
  exports: unknown,
  require: (name: string) => unknown,
  module: unknown,
  file: string,
  folder: string,
) => void;

const KEPT = `code-cache/${process.version}-${process.arch}`;

export class CodeCache {
  readonly #require: NodeJS.Require;
  /** Beside the bundle, where that can be written; else the user's own. */
  readonly #folders: readonly string[];
  readonly #from: string;
  readonly #fresh: { name: string; script: Script }[] = [];

  /** `top`: the folder that holds the bundle. */
  constructor(top: string) {
    this.#require = createRequire(join(top, "any.js"));
    const own = process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache");
    this.#folders = [join(top, KEPT), join(own, "segno", KEPT)];
    this.#from = this.#folders.find((folder) => existsSync(folder)) ?? (this.#folders[0] as string);
    process.on("exit", () => this.#keep());
  }

  load(file: string): unknown {
    const loaded = this.#require.cache[file];
    if (loaded !== undefined) return loaded.exports;
    const module = { exports: {}, id: file, filename: file, loaded: true };
    this.#require.cache[file] = module as NodeJS.Module;
    const folder = dirname(file);
    const require = (name: string): unknown => {
      if (!name.startsWith(".")) return this.#require(name);
      // It imports, which what was kept cannot.
      return name === "./import.js" ? this.#require(join(folder, name)) : this.load(join(folder, name));
    };
    this.#compiled(file)(module.exports, require, module, file, folder);
    return module.exports;
  }

  #compiled(file: string): Run {
    const text = readFileSync(file, "utf8");
    const name = crc32(text).toString(16);
    const kept = this.#kept(name);
    const script = new Script(`(function(exports,require,module,__filename,__dirname){${text}\n})`, {
      filename: file,
      ...(kept === undefined ? {} : { cachedData: kept }),
    });
    if (kept === undefined || script.cachedDataRejected === true) this.#fresh.push({ name, script });
    return script.runInThisContext() as Run;
  }

  #kept(name: string): Buffer | undefined {
    try {
      return readFileSync(join(this.#from, name));
    } catch {
      return undefined;
    }
  }

  /** At the end: by then it is known which functions are needed. */
  #keep(): void {
    if (this.#fresh.length === 0) return;
    for (const folder of this.#folders) {
      try {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        for (const { name, script } of this.#fresh) {
          // Two commands may end at once: each file is whole, or not there.
          const draft = join(folder, `${name}.${process.pid}`);
          writeFileSync(draft, script.createCachedData());
          renameSync(draft, join(folder, name));
        }
        return;
      } catch {
        // Then in the next place, or nowhere.
      }
    }
  }
}
