// tsc keeps no file modes: the bin must be executable when the package is linked.
import { chmodSync } from "node:fs";

chmodSync(new URL("../dist/cli/main.js", import.meta.url), 0o755);
