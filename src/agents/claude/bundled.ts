/** The Claude Code that comes with its SDK, as an optional dependency: it may have been left out. */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

export function bundled(): string | undefined {
  try {
    const sdk = createRequire(import.meta.url).resolve("@anthropic-ai/claude-agent-sdk");
    const path = join(dirname(sdk), `../claude-agent-sdk-${process.platform}-${process.arch}/claude`);
    return existsSync(path) ? path : undefined;
  } catch {
    return undefined;
  }
}
