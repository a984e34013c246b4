/** What every agent must do, held against each of them; the model behind it is scripted. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import type { Agent, Observation, SessionOptions } from "../../src/agents/agent.js";
import { findProcesses } from "../../src/agents/processes.js";
import { call, message, type Reply, say } from "../../src/rehearsal/reply.js";
import type { ModelRequest } from "../../src/rehearsal/request.js";
import type { Behaviour } from "../../src/rehearsal/server.js";
import type { StopWhy } from "../../src/run/event.js";
import { segnoTools } from "../../src/tools/tools.js";
import { scratchRepo, whenOver } from "./scratch.js";

export interface Made {
  agent: Agent;
  env: Record<string, string>;
}

/** Makes the agent with this behaviour behind it. */
export type MakeAgent = (behaviour: Behaviour) => Promise<Made>;

interface Opened {
  cwd: string;
  observations: Observation[];
  told: { tool: string; input: unknown }[];
  requests: ModelRequest[];
  send: (prompt: string, only?: boolean) => ReturnType<Awaited<ReturnType<Agent["open"]>>["send"]>;
  close: () => Promise<number>;
  agent: Agent;
  env: Record<string, string>;
  agentSession: () => string;
  /** Ends all its processes, as somebody else would; how many there were. */
  kill: () => Promise<number>;
}

/** What differs from agent to agent, and what one cannot do: said in the name of the test that would need it. */
export interface About {
  model: string;
  window: number;
  /** Where it compacts by itself, when it may. */
  compactAt: number;
  /** Whether the tools of one message are carried out in its order; else at once. */
  inOrder: boolean;
  /** Its names for the shell and for what writes files, as people read them. */
  shell: string;
  writes: string;
  /** The price of the contract's model, where it knows it. */
  price: object | undefined;
  /** Whether it is a process of its own. */
  isProcess: boolean;
  /** Whether a start takes seconds of a core: CI leaves to `test:agents` what it has another of, then. */
  startsSlowly: boolean;
}

const CLAUDE: About = {
  model: "claude-sonnet-4-5",
  window: 200_000,
  compactAt: 167_000,
  inOrder: true,
  shell: "Bash",
  writes: "Write",
  price: { input: 3, output: 15, cacheWrite: 3.75 },
  isProcess: true,
  startsSlowly: false,
};

let count = 0;

async function openWith(
  make: MakeAgent,
  script: (request: ModelRequest, n: number) => Reply,
  more: Partial<SessionOptions> & {
    stopAfter?: number;
    tell?: string;
    made?: Made;
    begins?: () => string | undefined;
  } = {},
): Promise<Opened> {
  const requests: ModelRequest[] = [];
  // Small questions of the agent's own, a title say, have no shell: they are not part of the script.
  const behaviour: Behaviour = (request) => {
    if (!(request.tools ?? []).some(({ name }) => name === "Bash")) return message(say("ok"));
    requests.push(request);
    return script(request, requests.length);
  };
  const { agent, env } = more.made ?? (await make(behaviour));
  const observations: Observation[] = [];
  const told: Opened["told"] = [];
  const cwd = more.cwd ?? scratchRepo({});
  const answer = (tool: string) => async (input: unknown) => {
    told.push({ tool, input });
    return "Recorded.";
  };
  let boundaries = 0;
  const marker = `contract-${process.pid}-${++count}:host:1`;
  const session = await agent.open({
    marker,
    cwd,
    env,
    model: "claude-sonnet-4-5",
    permissions: "all",
    readOnly: false,
    isolated: true,
    compacts: true,
    resume: undefined,
    sandbox: false,
    allowedTools: [],
    deniedTools: [],
    tools: segnoTools({
      progress: answer("progress"),
      decision: answer("decision"),
      checkpoint: answer("checkpoint"),
      verdict: answer("verdict"),
      phase_result: answer("phase_result"),
    }),
    mcp: undefined,
    handlers: {
      spawned: () => {},
      observe: (observation) => observations.push(observation),
      boundary: async () => {
        boundaries++;
        observations.push({ type: "said", text: `boundary ${boundaries}` });
        if (boundaries === more.stopAfter) return { stop: true, why: "context" as StopWhy };
        return { stop: false, tell: boundaries === 1 ? more.tell : undefined };
      },
      begins: more.begins ?? (() => undefined),
      mayCompact: () => false,
      givesUp: ({ kind, attempt }) => kind === "auth" && attempt >= 2,
    },
    ...more,
  });
  whenOver(() => session.close());
  return {
    cwd,
    observations,
    told,
    requests,
    agent,
    env,
    send: (prompt, only = false) => session.send(prompt, { onlySegnoTools: only }),
    close: async () => {
      const swept = await session.close();
      expect(await findProcesses((candidate) => candidate === marker)).toEqual([]);
      return swept;
    },
    kill: async () => {
      const found = await findProcesses((candidate) => candidate === marker);
      for (const { pid } of found) {
        try {
          process.kill(pid, "SIGKILL");
        } catch {
          // It ended with the one before it.
        }
      }
      return found.length;
    },
    agentSession: () => {
      const ready = observations.find((observation) => observation.type === "ready");
      return ready?.type === "ready" ? ready.agentSession : "";
    },
  };
}

const bash = (command: string) => call("Bash", { command, description: "look" });
const write = (path: string) => call("Write", { file_path: path, content: "written\n" });
const DONE = message(say("All done."));

export const agentContract = (name: string, make: MakeAgent, own: Partial<About> = {}) =>
  describe.concurrent(`the agent contract: ${name}`, () => {
    const about = { ...CLAUDE, ...own };
    const orderly = test.skipIf(!about.inOrder);
    const also = test.skipIf(about.startsSlowly && process.env.AGENTS !== "all");
    const open: typeof openWith = (maker, script, more) => openWith(maker, script, { model: about.model, ...more });
    /** Of tools that are carried out at once, each batch in any order. */
    const batches = <T>(all: T[], ...sizes: number[]): T[][] => {
      const left = [...all];
      return sizes.map((size) => {
        const batch = left.splice(0, size);
        return about.inOrder ? batch : batch.toSorted((a, b) => String(a).localeCompare(String(b)));
      });
    };
    const ours = async (tool: "progress" | "checkpoint") => (await make(() => DONE)).agent.toolName(tool);

    test("a turn does what the model says, reports it in order, and ends idle", async () => {
      const progress = await ours("progress");
      const session = await open(make, (_, n) =>
        n === 1
          ? message(say("Beginning."), bash("echo hello"), write("out.txt"))
          : n === 2
            ? message(call(progress, { message: "done", task: "1.1" }), bash("exit 3"))
            : DONE,
      );
      expect(await session.send("Do it.")).toEqual({ type: "finished" });
      expect(readFileSync(join(session.cwd, "out.txt"), "utf8")).toBe("written\n");
      expect(session.told).toEqual([{ tool: "progress", input: { message: "done", task: "1.1" } }]);
      const tools = session.observations.flatMap((seen) => (seen.type === "tool" ? [seen] : []));
      const outcomes = tools.map(({ kind, ok }) => `${kind} ${ok}`);
      expect(batches(outcomes, 2, 2)).toEqual(batches(["shell true", "edit true", "segno true", "shell false"], 2, 2));
      expect(tools.find(({ kind }) => kind === "segno")?.name).toBe("progress");
      expect(tools.find(({ kind }) => kind === "shell")?.brief).toBe("echo hello");
      expect(tools.find(({ kind }) => kind === "edit")?.edit?.file).toContain("out.txt");
      // Its usage before its tools, each tool's result to the meter before the tool.
      const kinds = session.observations.flatMap((seen) =>
        seen.type === "meter"
          ? seen.input.type === "appended" && seen.input.isResult
            ? ["metered"]
            : []
          : seen.type === "call" || seen.type === "tool"
            ? [seen.type]
            : [],
      );
      expect(kinds).toEqual([
        ...["call", "metered", "tool", "metered", "tool"],
        ...["call", "metered", "tool", "metered", "tool"],
        "call",
      ]);
      const calls = session.observations.flatMap((seen) => (seen.type === "call" ? [seen] : []));
      for (const { usage, model } of calls) {
        expect(usage.input + usage.cacheRead + usage.cacheWrite).toBeGreaterThan(5_000);
        expect(usage.output).toBeGreaterThan(1);
        expect(model).toBe(about.model);
      }
      await session.close();
    });

    test("who it is, its model and its window are told", async () => {
      const session = await open(make, () => message(bash("true")), { stopAfter: 1 });
      await session.send("Go.");
      expect(session.agentSession()).not.toBe("");
      const windows = session.observations.flatMap((seen) => (seen.type === "window" ? [seen] : []));
      expect(windows.at(-1)).toMatchObject({ window: about.window, compactAt: about.compactAt });
      await session.close();
      const kept = await open(make, () => message(bash("true")), { stopAfter: 1, compacts: false });
      await kept.send("Go.");
      const known = kept.observations.flatMap((seen) => (seen.type === "window" ? [seen] : []));
      expect(known.at(-1)).toMatchObject({ window: about.window, compactAt: undefined });
      await kept.close();
    });

    test("a boundary comes after each batch, when all of it was reported, and stops the turn there", async () => {
      const session = await open(make, (_, n) => message(bash(`echo ${n}a`), bash(`echo ${n}b`)), { stopAfter: 2 });
      expect(await session.send("Go on for ever.")).toEqual({ type: "stopped", why: "context" });
      expect(session.requests).toHaveLength(2);
      const order = session.observations.flatMap((seen) =>
        seen.type === "tool" ? ["tool"] : seen.type === "said" && seen.text.startsWith("boundary") ? [seen.text] : [],
      );
      expect(order).toEqual(["tool", "tool", "boundary 1", "tool", "tool", "boundary 2"]);
      await session.close();
    });

    // Where they are carried out at once, nothing is in the middle.
    orderly("a tool that is not to begin is answered instead, in the middle of a batch", async () => {
      const progress = await ours("progress");
      let reported = false;
      const session = await open(
        make,
        (_, n) =>
          n === 1
            ? message(write("before.txt"), call(progress, { message: "m" }), bash("echo no > after.txt"))
            : n === 2
              ? message(bash("echo yes > later.txt"))
              : DONE,
        {
          begins: () => {
            const known = session.told.length > 0;
            const answers = known && !reported;
            reported ||= known;
            return answers ? "Not now, later." : undefined;
          },
        },
      );
      expect(await session.send("Go.")).toEqual({ type: "finished" });
      expect(existsSync(join(session.cwd, "before.txt"))).toBe(true);
      expect(existsSync(join(session.cwd, "after.txt"))).toBe(false);
      expect(existsSync(join(session.cwd, "later.txt"))).toBe(true);
      expect(JSON.stringify(session.requests[1]?.messages)).toContain("Not now, later.");
      const tools = session.observations.flatMap((seen) => (seen.type === "tool" ? [[seen.name, seen.ok]] : []));
      expect(tools).toEqual([
        [about.writes, true],
        ["progress", true],
        [about.shell, false],
        [about.shell, true],
      ]);
      await session.close();
    });

    test("after a stop the same conversation is asked once more, and only our tools work then", async () => {
      const checkpoint = await ours("checkpoint");
      const claims = { goal: "g", completed: [], remaining: [], do_not_redo: [], decisions: [] };
      const session = await open(
        make,
        (_, n) =>
          n === 1
            ? message(bash("echo first"))
            : n === 2
              ? message(write("forbidden.txt"), bash("echo forbidden > shell.txt"), call(checkpoint, claims))
              : DONE,
        { stopAfter: 1 },
      );
      expect(await session.send("Go.")).toEqual({ type: "stopped", why: "context" });
      expect(await session.send("Hand over.", true)).toEqual({ type: "finished" });
      expect(session.told).toEqual([{ tool: "checkpoint", input: claims }]);
      expect(existsSync(join(session.cwd, "forbidden.txt"))).toBe(false);
      expect(existsSync(join(session.cwd, "shell.txt"))).toBe(false);
      // The first turn is part of what the model sees, and every tool is still listed.
      expect(JSON.stringify(session.requests[1]?.messages)).toContain("echo first");
      expect(session.requests[1]?.tools?.map(({ name }) => name)).toEqual(
        session.requests[0]?.tools?.map(({ name }) => name),
      );
      await session.close();
    });

    also("what is said at a boundary is read before the next call, by an agent that can be told", async () => {
      const script = (_: ModelRequest, n: number) =>
        n === 1 ? message(call("Bash", { command: "true", description: "x" })) : message(say("done"));
      const { send, requests, close, agent } = await open(make, script, { tell: "Segno: stay on your branch." });
      expect(await send("Work.")).toEqual({ type: "finished" });
      const read = requests.map(({ messages }) => JSON.stringify(messages).includes("Segno: stay on your branch."));
      expect(read).toEqual([false, agent.abilities.tells]);
      await close();
    });

    also("a session that only judges changes nothing, and can report", async () => {
      const progress = await ours("progress");
      const session = await open(
        make,
        (_, n) => (n === 1 ? message(write("out.txt"), call(progress, { message: "judged" })) : DONE),
        { readOnly: true },
      );
      await session.send("Judge.");
      expect(existsSync(join(session.cwd, "out.txt"))).toBe(false);
      expect(session.told).toEqual([{ tool: "progress", input: { message: "judged" } }]);
      await session.close();
    });

    test("with edits only, no shell command runs, and our tools do", async () => {
      const progress = await ours("progress");
      const session = await open(
        make,
        (_, n) =>
          n === 1
            ? message(
                write("edited.txt"),
                bash("node -e \"require('fs').writeFileSync('shell.txt', 'x')\""),
                call(progress, { message: "edited" }),
              )
            : DONE,
        { permissions: "edits" },
      );
      await session.send("Go.");
      expect(existsSync(join(session.cwd, "edited.txt"))).toBe(true);
      expect(existsSync(join(session.cwd, "shell.txt"))).toBe(false);
      expect(session.told).toHaveLength(1);
      await session.close();
    });

    also("what it started in the background is gone after its end", async () => {
      // The shell may not end before it is in a group of its own: some agents end the command's.
      const background = "setsid sh -c 'echo > there; exec sleep 1000' > /dev/null 2>&1 &";
      const session = await open(make, (_, n) =>
        n === 1 ? message(bash(`${background} until [ -e there ]; do sleep 0.05; done`)) : DONE,
      );
      await session.send("Go.");
      expect(await session.close()).toBeGreaterThan(0);
    });

    test.skipIf(!about.isProcess)(
      "killed in the middle of a turn, it has crashed, and nothing is left of it",
      async () => {
        const session = await open(make, () => message(bash("echo > there; sleep 1000")));
        const over = session.send("Go.");
        await vi.waitFor(() => expect(existsSync(join(session.cwd, "there"))).toBe(true), { timeout: 90_000 });
        expect(await session.kill()).toBeGreaterThan(0);
        expect(await over).toMatchObject({ type: "crashed" });
        expect(await session.send("Go on.")).toMatchObject({ type: "crashed" });
        await session.close();
      },
    );

    test("a conversation is taken up again by its id", async () => {
      const first = await open(make, (_, n) => (n === 1 ? message(bash("echo remember-me")) : DONE));
      await first.send("Go.");
      const agentSession = first.agentSession();
      await first.close();
      const has = async () => expect(await first.agent.canResume(agentSession, first.env)).toBe(true);
      // Not at once, with one that names its files by the minute.
      await vi.waitFor(has, { timeout: 90_000, interval: 1_000 });
      expect(await first.agent.canResume("00000000-0000-4000-8000-000000000000", first.env)).toBe(false);
      const made = { agent: first.agent, env: first.env };
      const again = await open(make, () => DONE, { resume: agentSession, made, cwd: first.cwd });
      expect(await again.send("Go on.")).toEqual({ type: "finished" });
      expect(JSON.stringify(first.requests.at(-1)?.messages)).toContain("remember-me");
      expect(JSON.stringify(first.requests.at(-1)?.messages)).toContain("Go on.");
      await again.close();
    });

    const error = (status: number, type: string): Reply => ({
      type: "error",
      status,
      error: type,
      message: `told ${status}`,
      headers: { "x-should-retry": "false" },
    });

    const isValue = async (status: number, type: string, kind: string): Promise<void> => {
      const session = await open(make, () => error(status, type));
      expect(await session.send("Go.")).toMatchObject({ type: "failed", kind });
      await session.close();
    };
    also("an error of the API is a value: 400", () => isValue(400, "invalid_request_error", "request"));
    also("an error of the API is a value: 404", () => isValue(404, "not_found_error", "model"));
    test("an error of the API is a value: 401", () => isValue(401, "authentication_error", "auth"));

    test("its own facts: a name, words for people, a credit line, prices", async () => {
      const { agent } = await make(() => DONE);
      const facts = z.object({ name: z.string().min(1), title: z.string().min(1) });
      expect(facts.safeParse(agent).success).toBe(true);
      expect(agent.help.install.length * agent.help.login.length).toBeGreaterThan(0);
      expect(agent.credit("a-model")).toMatch(/^.*a-model.* <\S+@\S+>$/);
      const price = agent.priceOf(about.model);
      if (about.price === undefined) expect(price).toBeUndefined();
      else expect(price).toMatchObject(about.price);
    });
  });
