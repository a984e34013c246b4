/** The import directions of ARCHITECTURE.md, checked. Circles are biome's to find (noImportCycles): types may form them. */
const room = (name) => `^src/${name}/`;
const only = (from, allowed) => ({
  name: `${from}-imports`,
  severity: "error",
  comment: `${from}/ may import only ${allowed.join(", ") || "itself"}`,
  from: { path: room(from) },
  to: { path: "^src/", pathNot: [from, ...allowed].map(room) },
});

module.exports = {
  forbidden: [
    {
      name: "no-orphans",
      severity: "error",
      from: { orphan: true, pathNot: ["\\.d\\.ts$", "^src/(tui|web/page)/"] },
      to: {},
    },
    {
      name: "pure-core",
      severity: "error",
      comment: "plan/, run/, context/ and config/ know no clock, no disk and no process",
      from: { path: "^src/(plan|run|context|config|view)/" },
      to: { dependencyTypes: ["core"] },
    },
    only("plan", []),
    only("context", []),
    only("config", []),
    only("run", ["plan", "context", "config"]),
    only("tools", ["run"]),
    only("handover", ["plan", "run", "tools", "context"]),
    only("agents", ["run", "context", "tools"]),
    only("gates", ["agents", "run"]),
    only("git", []),
    only("store", ["run", "context"]),
    only("view", ["run", "plan", "context"]),
    only("tui", ["view"]),
    only("web", ["view", "engine", "run", "git", "store"]),
    {
      name: "page-imports",
      severity: "error",
      from: { path: "^src/web/page/" },
      to: { path: "^src/", pathNot: ["^src/web/page/", "^src/view/"] },
    },
    only("rehearsal", ["git", "tools"]),
    only("engine", ["plan", "run", "context", "config", "handover", "agents", "tools", "gates", "git", "store"]),
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    // Its parser reads no JSX: what those files import is checked by biome (noRestrictedImports).
    exclude: { path: "\\.tsx$" },
    // TypeScript 7 has no programming interface yet; swc reads the same imports, type-only ones included.
    parser: "swc",
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "types", "node", "default"] },
  },
};
