/** Once before the tests: the scripted agent as a module that a plain Node can load. */
import { fileURLToPath } from "node:url";
import { build } from "vite";

export default async function buildScriptedAgent(): Promise<void> {
  await build({
    configFile: false,
    logLevel: "error",
    build: {
      ssr: fileURLToPath(new URL("./scripted-agent.ts", import.meta.url)),
      outDir: fileURLToPath(new URL("../../.scripted", import.meta.url)),
    },
  });
}
