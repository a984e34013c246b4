/**
 * Loads the bundle's files together with what V8 made of them when they were loaded before, so that a command answers at
 * once: reading and compiling them is most of what a short command does.
 *
 * Invariants
 * 1. What is kept is code. It is only taken from a folder that nobody but its owner can write, who is the user, or whoever
 *    owns the program itself.
 * 2. It is named after the text it was made from and the Node that made it, and carries a sum of its own: V8 checks
 *    neither, and ends the process where it is damaged.
 * 3. A file that is loaded here and one that is loaded by `require` are the same one.
 * 4. Whatever goes wrong with what is kept costs time, never the command.
 */
import { randomUUID } from "node:crypto";
import { lstatSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { Script } from "node:vm";
import { crc32 } from "node:zlib";

type Run = (
  exports: unknown,
  require: (name: string) => unknown,
  module: unknown,
  file: string,
  folder: string,
) => void;

const NODE = `${process.version}-${process.arch}`;
const OTHERS_WRITE = 0o022;
const SUM_BYTES = 4;

export class CodeCache {
  readonly #require: NodeJS.Require;
  readonly #top: string;
  /** Beside the program; else the user's own. */
  readonly #folders: readonly string[];
  readonly #trusted: string[];
  readonly #fresh: { name: string; script: Script }[] = [];

  /** `top`: the folder that holds the bundle. */
  constructor(top: string) {
    this.#top = top;
    this.#require = createRequire(join(top, "any.js"));
    const { XDG_CACHE_HOME: named = "" } = process.env;
    const own = named === "" ? join(homedir(), ".cache") : named;
    // One that is not absolute would be in the folder where the command is called: anyone's.
    this.#folders = [top, ...(isAbsolute(own) ? [join(own, "segno")] : [])].map((place) =>
      join(place, "code-cache", NODE),
    );
    this.#trusted = this.#folders.filter((folder) => this.#isTrusted(folder));
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
    try {
      this.#compiled(file)(module.exports, require, module, file, folder);
    } catch (error) {
      delete this.#require.cache[file];
      throw error;
    }
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
    // Made under other flags, it is refused: who has none of their own decides what is kept.
    if (kept === undefined || (script.cachedDataRejected === true && !hasFlags())) this.#fresh.push({ name, script });
    return script.runInThisContext() as Run;
  }

  #kept(name: string): Buffer | undefined {
    for (const folder of this.#trusted) {
      try {
        const whole = readFileSync(join(folder, name));
        const data = whole.subarray(SUM_BYTES);
        if (crc32(data) === whole.readUInt32LE()) return data;
      } catch {
        // It is not here.
      }
    }
    return undefined;
  }

  /** At the end: by then it is known which functions are needed. */
  #keep(): void {
    if (this.#fresh.length === 0) return;
    for (const folder of this.#folders) {
      const draft = join(folder, `${randomUUID()}.draft`);
      try {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        if (!this.#isTrusted(folder)) continue;
        for (const { name, script } of this.#fresh) {
          const data = script.createCachedData();
          const sum = Buffer.alloc(SUM_BYTES);
          sum.writeUInt32LE(crc32(data));
          // Two commands may end at once: each file is whole, or not there.
          writeFileSync(draft, Buffer.concat([sum, data]), { flag: "wx", mode: 0o600 });
          renameSync(draft, join(folder, name));
        }
        return;
      } catch {
        // Then in the next place, or nowhere.
        drop(draft);
      }
    }
  }

  /** Whether only its owner can have written there, and that is the user, or whoever the program is from. */
  #isTrusted(folder: string): boolean {
    try {
      const owners = [process.getuid?.(), lstatSync(this.#top).uid];
      return [folder, dirname(folder)].every((each) => {
        const found = lstatSync(each);
        return found.isDirectory() && owners.includes(found.uid) && (found.mode & OTHERS_WRITE) === 0;
      });
    } catch {
      return false;
    }
  }
}

const hasFlags = (): boolean =>
  [...process.execArgv, process.env.NODE_OPTIONS, process.env.NODE_V8_COVERAGE].some((flag) => (flag ?? "") !== "");

function drop(draft: string): void {
  try {
    rmSync(draft, { force: true });
  } catch {
    // Nothing can be done there.
  }
}
