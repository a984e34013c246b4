/** A third agent, added without touching any other room: it cannot do much, has our tools over HTTP, and does the work. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { describe, expect, test } from "vitest";
import type { Agent, AgentSession, SessionOptions } from "../../src/agents/agent.js";
import type { TurnEnd } from "../../src/run/event.js";
import { planFiles } from "../support/plans.js";
import { rehearse } from "../support/rehearsal.js";
import { git, scratchRepo } from "../support/scratch.js";

class ToySession implements AgentSession {
  readonly #options: SessionOptions;
  #calls = 0;

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  async send(prompt: string): Promise<TurnEnd> {
    const { observe, boundary } = this.#options.handlers;
    observe({ type: "ready", agentSession: "toy", model: "toy-1" });
    for (const [, id, title] of prompt.matchAll(/^- \[ \] (\d[\w.]*) (.*)$/gm)) {
      const path = /`(.+?)`/.exec(title ?? "")?.[1];
      if (path === undefined) continue;
      const file = join(this.#options.cwd, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, "toy\n");
      this.#told("edit", "Write", path);
      await this.#report("progress", { message: `Done: ${title}`, task: id });
      const decision = await boundary();
      if (decision.stop) return { type: "stopped", why: decision.why };
      // The window becomes known in the middle of its work.
      if (this.#calls === 2) observe({ type: "window", window: 50_000, compactAt: undefined });
    }
    const none = { tasks_completed: [], tasks_remaining: [], files_modified: [], decisions: [] };
    await this.#report("phase_result", { status: "completed", summary: "done", ...none });
    await boundary();
    return { type: "finished" };
  }

  #told(kind: "edit" | "segno", name: string, brief: string): void {
    const id = String(++this.#calls);
    const traced = { call: id, result: id, edit: undefined };
    this.#options.handlers.observe({ type: "tool", id, kind, name, brief, ok: true, subagent: false, ...traced });
  }

  async #report(name: string, input: Record<string, unknown>): Promise<void> {
    const { mcp } = this.#options;
    if (mcp === undefined) throw new Error("nobody serves the tools");
    const client = new Client({ name: "toy", version: "1" });
    const headers = { authorization: `Bearer ${mcp.token}` };
    const transport = new StreamableHTTPClientTransport(new URL(mcp.url), { requestInit: { headers } });
    await client.connect(transport as Transport);
    const { tools } = await client.listTools();
    expect(tools.map((tool) => tool.name)).toContain(name);
    const answer = await client.callTool({ name, arguments: input });
    expect(answer.isError).not.toBe(true);
    await client.close();
    this.#told("segno", name, "");
  }

  async close(): Promise<number> {
    return 0;
  }
}

const toy: Agent = {
  name: "toy",
  title: "The toy",
  levels: { all: "everything" },
  sandboxes: false,
  homeVariable: "NO_HOME",
  reads: [],
  abilities: { stop: "cancel", usage: "never", compaction: "own", refuses: false, tells: false, resume: false },
  help: { install: "Build it.", login: "None." },
  isDraft: () => false,
  toolName: (tool) => tool,
  credit: (model) => `Toy (${model}) <toy@segno.invalid>`,
  priceOf: () => undefined,
  account: () => "",
  check: async () => ({ ok: true, account: "none" }),
  checkQuickly: async () => ({ ok: true, account: "none" }),
  canResume: async () => false,
  open: async (options) => new ToySession(options),
};

describe("a third agent", () => {
  test("does a plan to its end, with gates, commits and marks; what it cannot do is said before", async () => {
    const repo = scratchRepo(planFiles([{ id: "1", tasks: 2, gates: ["test -f out/1-2.txt"] }, { id: "2" }]));
    const run = await rehearse({ repo, with: toy });
    expect(run.status).toBe("completed");
    expect(git(repo, "log", "-1", "--format=%(trailers:key=Co-Authored-By)")).toContain(
      "Toy (toy-1) <toy@segno.invalid>",
    );
    expect(git(repo, "ls-tree", "-r", "--name-only", "HEAD", "out")).toBe("out/1-1.txt\nout/1-2.txt\nout/2-1.txt");
    const warned = run.of("warned").map(({ message }) => message);
    for (const word of ["cancelling", "estimated", "compacts by itself", "other tools", "ledger"])
      expect(warned.some((message) => message.startsWith("The toy") && message.includes(word))).toBe(true);
    expect(run.of("window-known")[0]).toMatchObject({ window: 50_000 });
    expect(run.of("progress-reported").map(({ task }) => task)).toEqual(["1.1", "1.2", "2.1"]);
  });

  test("a session's token is worth nothing to another, or after its end", async () => {
    const repo = scratchRepo(planFiles([{ id: "1" }]));
    let seen: SessionOptions["mcp"];
    const status: number[] = [];
    const ask = async (token: string) => {
      if (seen === undefined) return;
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
      const headers = {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      };
      status.push((await fetch(seen.url, { method: "POST", headers, body })).status);
    };
    const curious: Agent = {
      ...toy,
      open: async (options) => {
        seen = options.mcp;
        const session = new ToySession(options);
        return {
          send: async (prompt) => {
            await ask(options.mcp?.token ?? "");
            await ask("0".repeat(64));
            return session.send(prompt);
          },
          close: () => session.close(),
        };
      },
    };
    const run = await rehearse({
      repo,
      with: curious,
      config: { gates_before: false },
      onEvent: (event) => {
        if (event.type === "session-ended") void ask(seen?.token ?? "");
      },
    });
    expect(run.status).toBe("completed");
    await expect.poll(() => status).toEqual([200, 401, 401]);
    expect(run.of("door-refused").map(({ path }) => path)).toEqual(["/mcp", "/mcp"]);
  });
});
