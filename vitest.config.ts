import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    pool: "forks",
    // Claude Code waits for its (stand-in) model most of the time: more files at once than cores.
    maxWorkers: 4,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    setupFiles: ["test/support/clean.ts"],
  },
});
