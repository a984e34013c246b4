/** What the page asks for. Whoever mounts it has already checked who is asking. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Context, Hono } from "hono";
import { streamSSE } from "hono/streaming";
import type { Guarded, PageRoutes } from "../engine/guard.js";
import { STEERS, type SteerName } from "../engine/steering.js";
import type { BlobRef, RunEvent } from "../run/event.js";
import { isOverAfter } from "../view/lines.js";
import { pack } from "../view/pack.js";
import type { Runs } from "./runs.js";

/** Where the built page is. */
export const PAGE = fileURLToPath(new URL("../page/", import.meta.url));

const TYPES: Record<string, string> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const MOST_BLOB = 2_000_000;
const BATCH_MS = 250;
const BEAT_MS = 15_000;
const DRAIN_MS = 2_000;

/** `own`: the run that this server belongs to. */
export function mountPage(app: Hono<Guarded>, runs: Runs, own: string | undefined): PageRoutes {
  const streams = new Set<symbol>();
  app.use("*", async (c, next) => {
    await next();
    c.header("content-security-policy", POLICY);
    c.header("x-content-type-options", "nosniff");
    c.header("referrer-policy", "no-referrer");
    c.header("cache-control", "no-store");
  });
  const files = assets();
  const send = (c: Context, name: string) => {
    const file = files.get(name);
    if (file === undefined) return c.json({ ok: false, message: "there is nothing here" }, 404);
    return c.body(file.content, 200, { "content-type": file.type });
  };
  app.get("/", (c) => send(c, "index.html"));
  app.get("/assets/:name", (c) => send(c, `assets/${c.req.param("name")}`));
  app.get("/api/runs", async (c) => c.json({ own: own ?? null, runs: await runs.list() }));
  app.get("/api/runs/:run/folded", async (c) => {
    const folded = (await known(c)) ? (await runs.watched(c.req.param("run"))).view.folded : undefined;
    return folded === undefined ? missing(c) : c.body(pack(folded), 200, { "content-type": "application/json" });
  });
  app.get("/api/runs/:run/phases/:phase", async (c) =>
    (await known(c)) ? c.json(await runs.phase(c.req.param("run"), c.req.param("phase"))) : missing(c),
  );
  app.get("/api/runs/:run/blobs/:hash", async (c) => {
    const ref = `sha256:${c.req.param("hash")}` as BlobRef;
    const content = (await known(c)) ? await runs.blob(c.req.param("run"), ref) : undefined;
    if (content === undefined) return missing(c);
    return c.text(content.slice(0, MOST_BLOB));
  });
  // Whoever conducts the run does it; which server the page came from is no matter.
  app.post("/api/runs/:run/steer/:act", async (c) => {
    const act = c.req.param("act");
    if (!(await known(c)) || !Object.hasOwn(STEERS, act)) return missing(c);
    const body: unknown = await c.req.json().catch(() => ({}));
    const said = await runs.ask(c.req.param("run"), act as SteerName, body as Record<string, unknown>);
    return c.json(said, said.ok ? 200 : 409);
  });
  app.get("/api/runs/:run/stream", async (c) => ((await known(c)) ? follow(c, runs, streams) : missing(c)));

  const known = (c: Context): Promise<boolean> => runs.has(c.req.param("run") ?? "");
  const missing = (c: Context) => c.json({ ok: false, message: "there is nothing here" }, 404);
  return {
    drain: async () => {
      for (let waited = 0; streams.size > 0 && waited < DRAIN_MS; waited += 50) await sleep(50);
      await runs.close();
    },
  };
}

/** Events after the one the page knows, in batches; a page that was away too long is told to begin anew. */
async function follow(c: Context, runs: Runs, streams: Set<symbol>): Promise<Response> {
  const watched = await runs.watched(c.req.param("run") ?? "");
  return streamSSE(c, async (stream) => {
    let seq = Number(c.req.header("last-event-id") ?? c.req.query("after") ?? 0);
    const first = watched.recent[0]?.seq ?? 0;
    if (watched.view.seq > seq && first > seq + 1) {
      await stream.writeSSE({ event: "stale", data: "{}" });
      return;
    }
    let waiting: RunEvent[] = watched.recent.filter((event) => event.seq > seq);
    let quiet = 0;
    const self = Symbol("stream");
    streams.add(self);
    const unlisten = watched.listen((events) => {
      waiting.push(...events);
    });
    const stop = () => {
      streams.delete(self);
      unlisten();
    };
    stream.onAbort(stop);
    try {
      while (!stream.aborted) {
        const batch = waiting.filter((event) => event.seq > seq);
        waiting = [];
        if (batch.length > 0) {
          quiet = 0;
          seq = batch.at(-1)?.seq ?? seq;
          await stream.writeSSE({ event: "events", id: String(seq), data: JSON.stringify(batch) });
          if (batch.reduce((over, event) => isOverAfter(event, over), false)) break;
        } else if (quiet >= BEAT_MS) {
          quiet = 0;
          await stream.writeSSE({ event: "beat", data: "{}" });
        }
        quiet += BATCH_MS;
        await stream.sleep(BATCH_MS);
      }
    } finally {
      stop();
    }
  });
}

/** Read once: nothing outside this list is ever served. */
function assets(): Map<string, { content: string; type: string }> {
  const files = new Map<string, { content: string; type: string }>();
  const take = (name: string) => {
    const type = TYPES[name.split(".").at(-1) ?? ""];
    if (type !== undefined) files.set(name, { content: readFileSync(join(PAGE, name), "utf8"), type });
  };
  if (!existsSync(join(PAGE, "index.html"))) return files;
  take("index.html");
  for (const name of readdirSync(join(PAGE, "assets"))) take(`assets/${name}`);
  return files;
}
