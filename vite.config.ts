import { defineConfig } from "vite";

/** The web page: one script, one style sheet, no request to anywhere else. */
export default defineConfig({
  root: "src/web/page",
  base: "./",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../../../dist/page",
    emptyOutDir: true,
    modulePreload: false,
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rollupOptions: { output: { codeSplitting: false } },
  },
  logLevel: "warn",
});
