import { mkdirSync, readFileSync, statfsSync } from "node:fs";
import { freemem } from "node:os";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Temporary folders in memory, where there is much of it: thousands of small files are written and synchronised. */
const MEMORY = "/dev/shm";
const ROOM = 8e9;
if (process.env.TMPDIR === undefined && roomIn(MEMORY) > ROOM) {
  process.env.TMPDIR = `${MEMORY}/segno-tests-${process.getuid?.() ?? ""}`;
  mkdirSync(process.env.TMPDIR, { recursive: true });
}

/** None where programs cannot be run. */
function roomIn(folder: string): number {
  try {
    const mount = readFileSync("/proc/mounts", "utf8")
      .split("\n")
      .find((line) => line.split(" ")[1] === folder);
    if (mount === undefined || /\bnoexec\b/.test(mount)) return 0;
    const { bavail, bsize } = statfsSync(folder);
    return Math.min(bavail * bsize, freemem());
  } catch {
    return 0;
  }
}

/** What needs the build, a real agent, a terminal or a browser, or more time than one waits at a save; all else is fast. */
const REAL = [
  "test/agents/claude*.test.ts",
  "test/cli/**/*.test.ts",
  "test/compat/**/*.test.ts",
  "test/crash/**/*.test.ts",
  "test/engine/{boundary,checkpoint,compaction,door,handover,harm,aside-kill,night,night-kill,on-postgres,policies,revive,stuck,survive,train,verify}.test.ts",
  "test/git/{commits,properties}.test.ts",
  "test/other-agents/{codex,opencode,short}.test.ts",
  "test/pictures.test.ts",
  "test/team/{command-line,one-worker}.test.ts",
  "test/store/{lock,postgres}.test.ts",
  "test/tui/**/*.test.ts",
  "test/web/page.test.ts",
];

/** What takes longest begins first, so that nothing is waited for at the end. */
const SLOW = [
  "test/crash/",
  "test/other-agents/",
  "test/compat/",
  "test/engine/",
  "test/web/",
  "test/tui/",
  "test/git/",
  "test/cli/",
];

class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = SLOW.findIndex((folder) => moduleId.includes(`/${folder}`));
      return at < 0 ? SLOW.length : at;
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}

export default defineConfig({
  test: {
    pool: "forks",
    // Modules are loaded once per worker: no test changes what they hold.
    isolate: false,
    sequence: { sequencer: SlowFirst },
    // Claude Code waits for its (stand-in) model most of the time: more files at once than cores.
    maxWorkers: 3,
    maxConcurrency: 4,
    // Generous: many agents share two cores, and no test asserts a time.
    // What is asked for in full takes as long as it takes.
    testTimeout: process.env.MUTATIONS === undefined ? 180_000 : 0,
    hookTimeout: 180_000,
    setupFiles: ["test/support/clean.ts"],
    coverage: { provider: "v8", include: ["src/**/*.{ts,tsx}"], reporter: ["text-summary"] },
    projects: [
      {
        extends: true,
        test: {
          name: "fast",
          include: ["test/**/*.test.ts"],
          exclude: [...REAL, "test/install/**", "test/other-agents/**", "test/team/**"],
        },
      },
      // Only where it is asked for: it packs, and installs from the registry.
      ...(process.argv.includes("agents")
        ? [{ extends: true as const, test: { name: "agents", include: ["test/other-agents/**/*.test.ts"] } }]
        : []),
      ...(process.argv.includes("team")
        ? [
            {
              extends: true as const,
              test: {
                name: "team",
                include: ["test/team/**/*.test.ts"],
                testTimeout: 900_000,
                fileParallelism: false,
                globalSetup: ["test/support/build-scripted-agent.ts"],
              },
            },
          ]
        : []),
      ...(process.argv.includes("install")
        ? [
            {
              extends: true as const,
              test: { name: "install", include: ["test/install/**/*.test.ts"], testTimeout: 900_000 },
            },
          ]
        : []),
      {
        extends: true,
        test: { name: "real", include: REAL, globalSetup: ["test/support/build-scripted-agent.ts"] },
      },
    ],
  },
});
