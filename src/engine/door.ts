/**
 * The door: one HTTP server on 127.0.0.1 through which other terminals steer the run and agents without MCP report.
 *
 * Invariants
 * 1. Nothing is done without a token. The run's token is in a file only the user can read; a session's token is only in
 *    that session's environment, speaks for that session alone, and is worth nothing once it has ended.
 * 2. A request from a web page of elsewhere, or to a name that was made to point here, is refused whatever its token.
 * 3. Every refusal is in the journal, up to a number that cannot flood it.
 */
import { createHmac, randomBytes } from "node:crypto";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { type Guarded, guard, same } from "./guard.js";
import type { HeldRun } from "./held-run.js";
import { endingText, type Said, STEERS } from "./steering.js";

export interface Door {
  url: string;
  /** Opens the page, for whoever has it. */
  link: string;
  sessionToken(session: string): string;
  close(): Promise<void>;
}

const LARGEST_BODY = 256 * 1024;
const MOST_REFUSALS = 100;
const ANSWER_MS = 50;

/** A server on this machine's own address, and nowhere else. */
export async function listen(fetch: (request: Request) => Response | Promise<Response>, port = 0): Promise<Server> {
  return new Promise<Server>((resolve, reject) => {
    const listening = serve({ fetch, hostname: "127.0.0.1", port }, () => resolve(listening as Server));
    listening.once("error", reject);
  });
}

export async function openDoor(held: HeldRun): Promise<Door> {
  const { run, store } = held;
  const token = randomBytes(32).toString("hex");
  const sessionToken = (session: string) => createHmac("sha256", token).update(session).digest("hex");
  const { app, page } = routes(held, token, sessionToken);
  const server = await listen(app.fetch);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { run: id } = run.state;
  await store.setAddress(id, { url, token, pid: process.pid, run: id });
  return {
    url,
    link: `${url}/?token=${token}`,
    sessionToken,
    close: async () => {
      await page?.drain();
      await store.setAddress(id, undefined);
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

function routes(held: HeldRun, token: string, sessionToken: (session: string) => string) {
  const { run } = held;
  let refusals = 0;
  const refuse = (c: Context, status: 401 | 403 | 404, why: string) => {
    if (refusals++ < MOST_REFUSALS) run.append({ type: "door-refused", path: c.req.path.slice(0, 200), why });
    return c.json({ ok: false, message: why }, status);
  };
  const app = new Hono<Guarded>();
  app.use(bodyLimit({ maxSize: LARGEST_BODY }));
  app.use(
    guard({
      token,
      refuse,
      session: (given) => {
        const ids = [...run.state.sessions.keys(), ...held.warm.keys()];
        const id = ids.find((candidate) => same(given, sessionToken(candidate)));
        if (id === undefined) return undefined;
        const ended = run.state.sessions.get(id)?.step === "ended";
        return ended ? { stale: `a stale token: session ${id} has ended` } : { as: "session", session: id };
      },
    }),
  );
  // A session sees nothing of the page: it has its own tools.
  app.use("/api/*", async (c, next) =>
    c.get("caller").as === "user" ? next() : refuse(c, 403, "a session may not read the run"),
  );

  const steer = (path: string, act: (c: Context) => Promise<Said>) =>
    app.post(path, async (c) => {
      if (c.get("caller").as !== "user") return refuse(c, 403, "a session may not steer the run");
      const said = await act(c);
      return typeof said === "string"
        ? c.json({ ok: true, message: said })
        : c.json({ ok: false, message: said.missing }, 404);
    });
  for (const [name, act] of Object.entries(STEERS))
    steer(`/${name}`, async (c) => {
      if (name === "stop" && run.state.stopping?.cause === "asked" && held.endNow !== undefined) {
        // The answer is on its way first.
        setTimeout(held.endNow, ANSWER_MS);
        return endingText(run.state.run);
      }
      return act(run, await bodyOf(c));
    });
  app.get("/status", (c) => {
    if (c.get("caller").as !== "user") return refuse(c, 403, "a session may not read the run");
    const { run: id, status, hold, stopping } = run.state;
    return c.json({ ok: true, run: id, status, hold: hold ?? null, stopping: stopping !== undefined });
  });

  const report = (path: string, tool: "progress" | "phase_result") =>
    app.post(path, async (c) => {
      const caller = c.get("caller");
      if (caller.as !== "session") return refuse(c, 403, "only a session of the run may report");
      const tools = held.sessions.get(caller.session)?.tools;
      if (tools === undefined) return refuse(c, 401, `a stale token: session ${caller.session} has ended`);
      const { text, isError } = await tools.call(tool, await bodyOf(c));
      return c.json({ ok: !isError, message: text }, isError ? 400 : 200);
    });
  app.all("/mcp", async (c) => {
    const caller = c.get("caller");
    if (caller.as !== "session") return refuse(c, 403, "only a session of the run has tools");
    const tools = held.sessions.get(caller.session)?.tools ?? held.warm.get(caller.session)?.tools;
    if (tools === undefined) return refuse(c, 401, `a stale token: session ${caller.session} has ended`);
    // Loaded when an agent asks that is not in this process.
    return (await import("../tools/mcp-http.js")).serveMcp(tools, c.req.raw);
  });
  report("/progress", "progress");
  report("/done", "phase_result");
  const page = held.page?.(app);
  app.notFound((c) => c.json({ ok: false, message: "there is nothing here" }, 404));
  return { app, page };
}

async function bodyOf(c: Context): Promise<Record<string, unknown>> {
  try {
    const body: unknown = await c.req.json();
    return typeof body === "object" && body !== null ? (body as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
