/** Opens a link in the user's browser, where there is one. */
import { spawn } from "node:child_process";

export function openInBrowser(link: string): void {
  const program = process.platform === "darwin" ? "open" : "xdg-open";
  const child = spawn(program, [link], { stdio: "ignore", detached: true });
  child.on("error", () => {});
  child.unref();
}
