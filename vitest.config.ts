import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** What takes longest begins first, so that nothing is waited for at the end. */
const SLOW = ["test/crash/", "test/engine/", "test/web/", "test/tui/", "test/git/", "test/cli/"];

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
    include: ["test/**/*.test.ts"],
    pool: "forks",
    // Modules are loaded once per worker: no test changes what they hold.
    isolate: false,
    sequence: { sequencer: SlowFirst },
    // Claude Code waits for its (stand-in) model most of the time: more files at once than cores.
    maxWorkers: 3,
    maxConcurrency: 4,
    // Generous: many agents share two cores, and no test asserts a time.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    setupFiles: ["test/support/clean.ts"],
  },
});
