/** The live screen in a pseudo-terminal, as a person sees it. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.js";
import { planFiles } from "../support/plans.js";
import { inPty, type Pty, pidFile } from "../support/pty.js";
import { SAMPLE_FAILURE, SAMPLE_QUESTION, sampleFacts, writeSample } from "../support/sample-run.js";
import { git, scratchRepo } from "../support/scratch.js";
import { latch, SEGNO, site } from "../support/segno.js";

const ENTER = "\u001b[?1049h";
const LEAVE = "\u001b[?1049l";
const SHOW_CURSOR = "\u001b[?25h";

/** The clock of a run that goes on is the only thing that moves by itself. */
const still = (frame: string[]): string =>
  `${frame.map((line) => line.replace(/\s+(running|paused|stopping|waits for you) {2}\d+:\d\d:\d\d$/, " $1")).join("\n")}\n`;

/** Waits for the frame itself: any one of its lines may be there before the rest. */
async function expectGolden(name: string, pty: Pty): Promise<void> {
  const file = new URL(`../fixtures/frames/${name}.txt`, import.meta.url);
  if (process.env.GOLDEN === "write" || !existsSync(file)) {
    const seen = [""];
    await pty.until((lines) => seen[seen.push(still(lines)) - 2] === still(lines), "a frame that stays");
    writeFileSync(file, seen.at(-1) ?? "");
  }
  const golden = readFileSync(file, "utf8");
  await pty.until((lines) => still(lines) === golden, "the golden frame").catch(() => undefined);
  expect(still(pty.frame())).toBe(golden);
}

const lastLine = (frame: string[]): string => frame.filter((line) => line !== "").at(-1) ?? "";

describe.concurrent("the live screen, in a pseudo-terminal", () => {
  for (const [columns, rows] of [
    [80, 24],
    [200, 50],
  ] as const) {
    test(`golden frame at ${columns} by ${rows}, with a question, and after it was left nothing remains`, async () => {
      const repo = scratchRepo({});
      await writeSample(repo, [...sampleFacts(), SAMPLE_QUESTION], true);
      const env = { PATH: process.env.PATH ?? "", HOME: repo };
      const pty = inPty([process.execPath, SEGNO, "watch"], { cwd: repo, env, columns, rows });
      await pty.until((lines) => lines.some((line) => line.includes("1-2 answer")), "the screen");
      await expectGolden(`${columns}x${rows}`, pty);
      pty.resize(110, 30);
      await pty.until((lines) => lines.includes("─".repeat(110)), "the screen in its new size");
      expect(pty.frame().filter((line) => line.includes("Rewrite the importer"))).toHaveLength(1);
      pty.type("q");
      await pty.until((lines) => lines.some((line) => line.includes("d detach")), "the question how to leave");
      pty.type("d");
      expect(await pty.ended).toBe(0);
      expect(pty.raw()).toContain(ENTER);
      expect(pty.raw().slice(pty.raw().lastIndexOf(ENTER))).toContain(LEAVE);
      expect(pty.raw().slice(-200)).toContain(SHOW_CURSOR);
    });
  }

  test("NO_COLOR: no colour at all", async () => {
    const repo = scratchRepo({});
    await writeSample(repo, sampleFacts(), true);
    const env = { PATH: process.env.PATH ?? "", HOME: repo, NO_COLOR: "1" };
    const pty = inPty([process.execPath, SEGNO, "watch"], { cwd: repo, env, columns: 100, rows: 30 });
    await pty.until((lines) => lines.some((line) => line.includes("q quit")), "the screen");
    pty.type("q");
    await pty.until((lines) => lines.some((line) => line.includes("d detach")), "the question how to leave");
    pty.type("d");
    await pty.ended;
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control characters
    expect(pty.raw()).not.toMatch(/\u001b\[[0-9;]*(3[0-9]|9[0-9])m/);
  });

  test("keys: pause, go on, verbose, answer, detach; the run survives, and a second screen stops it", async () => {
    const files = planFiles([
      { id: "1", tasks: 2 },
      { id: "2", tasks: 30, dependsOn: ["1"] },
    ]);
    files["plan/phase-1.md"] = (files["plan/phase-1.md"] ?? "").replace(
      "## Gates\n",
      "## Gates\n\n- looks: right to a person\n",
    );
    const held = latch();
    const place = await site({
      repo: scratchRepo({ ...files, ".segno/config.yaml": "gates:\n  looks: manual\n" }),
      behave: (request, worker) =>
        JSON.stringify(request.messages).includes("# Phase 2:") ? held.behave(request, worker) : worker(request),
    });
    const options = { cwd: place.repo, env: place.env, columns: 100, rows: 30 };
    const pty = inPty([process.execPath, SEGNO, "run", "PLAN.md"], options);
    await pty.until(
      (lines) => lastLine(lines).includes("1-3 answer") && (lines[0] ?? "").includes("waits for you"),
      "the question",
    );
    pty.type("v");
    pty.type("p");
    await pty.until((lines) => (lines[0] ?? "").includes("paused"), "the pause");
    pty.type("p");
    await pty.until((lines) => (lines[0] ?? "").includes("waits for you"), "the going on");
    // The footer's own keys answer nothing.
    await pty.until((lines) => lines.some((line) => /^ {2}1 {2}pass /.test(line)), "the choices");
    pty.type("1");
    await pty.until((lines) => lines.some((line) => /● 1 .*done/.test(line)), "the first phase's end");
    pty.type("q");
    await pty.until((lines) => lastLine(lines).includes("d detach"), "the question how to leave");
    pty.type("d");
    expect(await pty.ended).toBe(0);
    expect(pty.raw().split(LEAVE).at(-1)).toContain("goes on in the background");

    const second = inPty([process.execPath, SEGNO, "watch"], options);
    await second.until((lines) => lines.some((line) => /◐ 2 /.test(line)), "the run in the second terminal");
    second.type("x");
    await second.until((lines) => (lines[0] ?? "").includes("stopping"), "that it stops");
    held.release();
    await second.until((lines) => (lines[0] ?? "").includes("stopped"), "the stop");
    second.type("q");
    expect(await second.ended).toBe(0);
    expect(git(place.repo, "status", "--porcelain", "--untracked-files=no")).toBe("");
  });

  test("without the screen: who is asked about a phase is asked no more when it is skipped elsewhere", async () => {
    const files = planFiles([
      { id: "1", gates: ["false"] },
      { id: "2", dependsOn: ["1"] },
    ]);
    const place = await site({ repo: scratchRepo(files), agent: "scripted" });
    const env = { ...place.env, SEGNO_MAX_REMEDIATIONS: "0" };
    const options = { cwd: place.repo, env, columns: 100, rows: 50 };
    const pty = inPty([process.execPath, SEGNO, "run", "PLAN.md", "--plain"], options);
    await pty.until((lines) => lastLine(lines).endsWith("] >"), "the question");
    const skipped = await place.segno(["skip", "1"]).ended;
    expect(skipped.code, skipped.stderr).toBe(0);
    expect(await pty.ended, pty.raw()).toBe(0);
    expect(JSON.parse((await place.segno(["status", "--json"]).ended).stdout)).toMatchObject({ status: "completed" });
  });

  test("a question over several lines, which of how many, what counts when nobody answers; n shows the next", async () => {
    const repo = scratchRepo({});
    const second = { ...SAMPLE_QUESTION, question: "3/a1/ask", phase: "3", text: "The second question?" } as const;
    await writeSample(repo, [...sampleFacts(), SAMPLE_QUESTION, second], true);
    const env = { PATH: process.env.PATH ?? "", HOME: repo };
    const pty = inPty([process.execPath, SEGNO, "watch"], { cwd: repo, env, columns: 80, rows: 24 });
    await pty.until((lines) => {
      const at = lines.findIndex((line) => line.startsWith("? 1 of 2, phase 2: Everything"));
      const falls = lines.some((line) => /when nobody answers: fail, at \d\d:\d\d UTC/.test(line));
      return at >= 0 && lines[at + 1] === "  at: the output of the new pipeline" && falls;
    }, "the question, whole, and what counts when nobody answers");
    pty.type("n");
    await pty.until((lines) => lines.some((line) => line.startsWith("? 2 of 2, phase 3: The second")), "the next one");
    pty.type("qd");
    expect(await pty.ended).toBe(0);
  });

  test("a run whose conductor was killed is interrupted, with the command that goes on", async () => {
    const repo = scratchRepo({});
    await writeSample(repo, sampleFacts());
    const env = { PATH: process.env.PATH ?? "", HOME: repo };
    const pty = inPty([process.execPath, SEGNO, "watch"], { cwd: repo, env, columns: 80, rows: 24 });
    await pty.until((lines) => (lines[0] ?? "").includes("interrupted"), "that it is interrupted");
    await pty.until((lines) => /segno resume abcd\b/.test(lastLine(lines)), "the command, whole");
    const env80 = { ...env, COLUMNS: "80" };
    const { stdout } = spawnSync(process.execPath, [SEGNO, "status"], { cwd: repo, env: env80, encoding: "utf8" });
    expect(stdout).toMatch(/: interrupted, run .*segno resume 20260102-030405-abcd/s);
    pty.type("q");
    expect(await pty.ended).toBe(0);
  });

  test("a screen that is killed gives the terminal back: no raw mode, no other screen", async () => {
    const repo = scratchRepo({});
    await writeSample(repo, sampleFacts(), true);
    const env = { PATH: process.env.PATH ?? "", HOME: repo };
    // A shell that outlives it, as a person's does.
    const shell = `${process.execPath} ${SEGNO} watch; until [ -e ${repo}.go ]; do sleep 0.1; done; stty -a > ${repo}.stty`;
    const pty = inPty(["/bin/sh", "-c", shell], { cwd: repo, env, columns: 90, rows: 24 });
    await pty.until((lines) => lines.some((line) => line.includes("q quit")), "the screen");
    const parent = readFileSync(pidFile(repo), "utf8").trim();
    const [child] = readFileSync(`/proc/${parent}/task/${parent}/children`, "utf8").trim().split(" ");
    process.kill(Number(child), "SIGKILL");
    await eventually("the terminal is given back", () => {
      const after = pty.raw().slice(pty.raw().lastIndexOf(ENTER));
      return after.includes(LEAVE) && after.includes(SHOW_CURSOR);
    });
    writeFileSync(`${repo}.go`, "");
    await pty.ended;
    expect(readFileSync(`${repo}.stty`, "utf8")).toMatch(/ icanon/);
  });

  test("a failed phase shows what its gate printed last", async () => {
    const repo = scratchRepo({});
    await writeSample(repo, [...sampleFacts(), ...SAMPLE_FAILURE]);
    const env = { PATH: process.env.PATH ?? "", HOME: repo };
    const pty = inPty([process.execPath, SEGNO, "watch"], { cwd: repo, env, columns: 80, rows: 24 });
    const frame = await pty.until((lines) => lines.some((line) => line.includes("│ AssertionError")), "the reason");
    expect(frame.some((line) => line.includes("2  gate tests: exit 1"))).toBe(true);
    // Nobody works: there is no gauge.
    expect(frame.some((line) => line.includes("█"))).toBe(false);
    pty.type("q");
    expect(await pty.ended).toBe(0);
  });

  test("a phase failed and its question is open: x stops the run, and the terminal has the reason and the next command", async () => {
    const files = planFiles([
      { id: "1", gates: ["echo the reason of it; false"] },
      { id: "2", dependsOn: ["1"] },
    ]);
    const place = await site({ repo: scratchRepo(files) });
    const env = { ...place.env, SEGNO_MAX_REMEDIATIONS: "0" };
    const pty = inPty([process.execPath, SEGNO, "run", "PLAN.md"], { cwd: place.repo, env, columns: 90, rows: 30 });
    await pty.until((lines) => (lines[0] ?? "").includes("waits for you"), "the question");
    pty.type("x");
    expect(await pty.ended).toBe(3);
    const after = pty.raw().split(LEAVE).at(-1) ?? "";
    expect(after).toContain("the reason of it");
    expect(after).toMatch(/next: segno resume \d{8}-\d{6}-\w{4}/);
  });

  test("SIGTERM gives the terminal back; the run it belonged to stops cleanly", async () => {
    const place = await site({ repo: scratchRepo(planFiles([{ id: "1", tasks: 40 }])) });
    const options = { cwd: place.repo, env: place.env, columns: 90, rows: 24 };
    const pty = inPty([process.execPath, SEGNO, "run", "PLAN.md"], options);
    await pty.until((lines) => lines.some((line) => /◐ 1 .*working/.test(line)), "the run");
    process.kill(Number(readFileSync(pidFile(place.repo), "utf8")), "SIGTERM");
    await pty.ended;
    const after = pty.raw().slice(pty.raw().lastIndexOf(ENTER));
    expect(after).toContain(LEAVE);
    expect(after).toContain(SHOW_CURSOR);
    await place.segno(["logs", "--follow"]).ended;
    const status = JSON.parse((await place.segno(["status", "--json"]).ended).stdout) as { status: string };
    expect(status.status).toBe("stopped");
    expect(existsSync(join(place.repo, ".git/segno/runs"))).toBe(true);
  });
});
