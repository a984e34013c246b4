// Writes the documents that are made from the code: run after `npm run build`.
import { writeFileSync } from "node:fs";
import { configurationPage } from "../build/config/document.js";

writeFileSync(new URL("../docs/configuration.md", import.meta.url), configurationPage());
