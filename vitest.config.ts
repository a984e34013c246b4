import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    pool: "forks",
    // Claude Code waits for its (stand-in) model most of the time: more files at once than cores.
    maxWorkers: 3,
    maxConcurrency: 4,
    // Generous: many agents share two cores, and no test asserts a time.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    setupFiles: ["test/support/clean.ts"],
  },
});
