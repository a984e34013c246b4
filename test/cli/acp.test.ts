/** A command that speaks the Agent Client Protocol as the agent of a run; one that a project names is confirmed first. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { findProcesses } from "../../src/agents/processes.js";
import { planFiles } from "../support/plans.js";
import { inPty } from "../support/pty.js";
import { git, scratchRepo } from "../support/scratch.js";
import { eventsOf, SEGNO, type Site, site } from "../support/segno.js";

const TOY = fileURLToPath(new URL("../support/toy-acp.mjs", import.meta.url));
const COMMAND = `"${process.execPath}" "${TOY}" phase`;
const FILES = planFiles([{ id: "1", tasks: 2, gates: ["test -f out/1-2.txt"] }]);
const inProject = {
  ".segno/config.yaml": `agent:\n  acp: ${JSON.stringify(COMMAND)}\n`,
  ".segno/.gitignore": "runs/\n",
};

/** Whoever speaks ACP and lets nobody choose a model gets none. */
async function own(repo: string): Promise<Site> {
  const place = await site({ repo, agent: "claude" });
  place.env.SEGNO_MODEL = "";
  return place;
}

describe.concurrent("an ACP agent", () => {
  test("does a phase: every task, its gate, its commit with its name; what it cannot do is said before", async () => {
    const repo = scratchRepo(FILES);
    const place = await own(repo);
    const ended = await place.segno(["run", "PLAN.md", "--json", "--agent", `acp:${COMMAND}`]).ended;
    expect(ended.code, `${ended.stdout.slice(-3_000)}\n${ended.stderr}`).toBe(0);
    const events = eventsOf(ended);
    expect(events.flatMap((event) => (event.type === "progress-reported" ? [event.task] : []))).toEqual(["1.1", "1.2"]);
    expect(git(repo, "show", "HEAD:PLAN.md")).toContain("Completed");
    expect(git(repo, "log", "-1", "--format=%(trailers:key=Co-Authored-By)")).toContain("node (unknown)");
    const warned = events.flatMap((event) => (event.type === "warned" ? [event.message] : []));
    expect(warned.join("\n")).toContain("node can only be stopped by cancelling");
    expect(warned.join("\n")).toContain("tool_call_threshold counts");
    const first = events[0];
    const run = first?.type === "run-started" ? first.run : "";
    expect(await findProcesses((marker) => marker.startsWith(`${run}:`))).toEqual([]);
  });

  test("that a project's file names is not started before somebody has confirmed it, once", async () => {
    const repo = scratchRepo({ ...FILES, ...inProject });
    const place = await own(repo);
    const refused = await place.segno(["run", "PLAN.md"]).ended;
    expect(refused.code).toBe(2);
    expect(refused.stderr + refused.stdout).toContain("Nobody has confirmed it");
    expect(refused.stderr + refused.stdout).toContain(TOY);
    const doctor = await place.segno(["doctor"]).ended;
    expect(doctor.stdout).toContain("nobody has confirmed it: not started");
    expect(existsSync(join(repo, "out"))).toBe(false);
    const screen = { cwd: repo, env: place.env, columns: 120, rows: 40 };
    const terminal = inPty([process.execPath, SEGNO, "run", "PLAN.md"], screen);
    await terminal.until((frame) => frame.join("\n").includes("May it? It runs as you"), "it is asked");
    terminal.type("yes\r");
    expect(await terminal.ended).toBe(0);
    expect(existsSync(join(repo, "out/1-2.txt"))).toBe(true);
    const again = await place.segno(["run", "PLAN.md", "--force", "--json"]).ended;
    expect(again.stdout).toContain("run-started");
  });

  test("that the user's own file names, too, needs no word; one that a plan names is not started", async () => {
    const repo = scratchRepo({ ...FILES, ...inProject });
    const place = await own(repo);
    mkdirSync(join(place.home, ".config/segno"), { recursive: true });
    writeFileSync(join(place.home, ".config/segno/config.yaml"), `fallback: [{ acp: ${JSON.stringify(COMMAND)} }]\n`);
    const ended = await place.segno(["run", "PLAN.md", "--json"]).ended;
    expect(ended.code, ended.stderr).toBe(0);
    const named = planFiles([{ id: "1", fields: `**Agent:** acp:${TOY}` }]);
    const other = await site({ repo: scratchRepo(named) });
    const audited = await other.segno(["audit", "PLAN.md"]).ended;
    expect(audited.stdout + audited.stderr).toContain("only your configuration may");
  });
});
