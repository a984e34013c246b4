/**
 * The stand-in model on loopback: the Messages API, and other vendors' APIs with the same behaviour behind them. It counts honestly, caches like the real ones, refuses what is too long for its window, and leaves what to
 * answer to a behaviour.
 */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type InputUsage, PromptCache } from "./cache.js";
import { COMPLETIONS } from "./completions.js";
import type { Dialect } from "./dialect.js";
import { GENERATE_CONTENT, isGenerateContent } from "./generate-content.js";
import type { Reply, ReplyBlock } from "./reply.js";
import { type ModelRequest, piecesOf, promptTokens } from "./request.js";
import { RESPONSES } from "./responses.js";
import { countTokens } from "./tokens.js";

export type Behaviour = (request: ModelRequest) => Reply | Promise<Reply>;

/** One answered request, for tests and reports. */
export interface Exchange {
  at: number;
  request: ModelRequest;
  reply: Reply;
  usage: InputUsage & { output_tokens: number };
}

export interface StandInOptions {
  behaviour: Behaviour;
  /** Tokens the model accepts; longer requests get the API's own error. */
  window: number;
  /** Milliseconds a reply takes. */
  delayMs?: number;
  /** Called after each exchange; keeps nothing itself unless `keepExchanges`. */
  onExchange?: (exchange: Exchange) => void;
  port?: number;
}

export interface StandIn {
  url: string;
  port: number;
  close(): Promise<void>;
}

export async function startStandIn(options: StandInOptions): Promise<StandIn> {
  const cache = new PromptCache();
  const server = createServer((req, res) => {
    handle(options, cache, req, res).catch((error: unknown) => {
      if (!res.headersSent) sendError(res, 500, "api_error", String(error));
      else res.destroy();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port ?? 0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function handle(options: StandInOptions, cache: PromptCache, req: IncomingMessage, res: ServerResponse) {
  const path = (req.url ?? "").split("?")[0] ?? "";
  const dialect = req.method === "POST" ? dialectOf(path) : undefined;
  if (dialect !== undefined) return handleDialect(dialect, options, cache, req, res);
  if (req.method !== "POST" || (path !== "/v1/messages" && path !== "/v1/messages/count_tokens")) {
    req.resume();
    return sendError(res, 404, "not_found_error", `no such endpoint: ${req.method} ${path}`);
  }
  const request = JSON.parse(await readBody(req)) as ModelRequest;
  const tokens = promptTokens(request);
  if (path.endsWith("/count_tokens")) return sendJson(res, 200, { input_tokens: tokens });
  if (tokens > options.window) {
    return sendError(
      res,
      400,
      "invalid_request_error",
      `prompt is too long: ${tokens} tokens > ${options.window} maximum`,
    );
  }
  const reply = await answerOf(options, request);
  if (reply.type === "hang") return;
  if (reply.type === "error") return sendError(res, reply.status, reply.error, reply.message, reply.headers);
  const usage = { ...cache.account(request.model, piecesOf(request)), output_tokens: outputTokens(reply.content) };
  options.onExchange?.({ at: Date.now(), request, reply, usage });
  const id = `msg_${randomUUID().replaceAll("-", "").slice(0, 24)}`;
  const content = reply.content.map(withId);
  const stop = content.some((block) => block.type === "tool_use") ? "tool_use" : "end_turn";
  const body = {
    id,
    type: "message",
    role: "assistant",
    model: request.model,
    content,
    stop_reason: stop,
    stop_sequence: null,
    usage: reply.type === "message" && reply.silent === true ? NO_USAGE : usage,
  };
  if (!request.stream) return sendJson(res, 200, body);
  stream(res, body, reply.type === "cut");
}

/** Other vendors' APIs, by their path. */
const DIALECTS: Readonly<Record<string, Dialect>> = {
  "/v1/responses": RESPONSES,
  "/v1/chat/completions": COMPLETIONS,
};

const dialectOf = (path: string): Dialect | undefined => (isGenerateContent(path) ? GENERATE_CONTENT : DIALECTS[path]);

async function handleDialect(
  dialect: Dialect,
  options: StandInOptions,
  cache: PromptCache,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const request = dialect.read(JSON.parse(await readBody(req)), (req.url ?? "").split("?")[0] ?? "");
  // There is no mark where to cache: whatever was sent before is.
  const pieces = piecesOf(request).map((piece) => ({ ...piece, breakpoint: true }));
  const tokens = promptTokens(request);
  const reply: Reply =
    tokens > options.window
      ? {
          type: "error",
          status: 400,
          error: TOO_LONG,
          message: `prompt is too long: ${tokens} tokens > ${options.window} maximum`,
        }
      : await answerOf(options, request);
  if (reply.type === "hang") return;
  if (reply.type === "error") {
    const { status, error: code, message, headers } = reply;
    const told = code === TOO_LONG ? dialect.tooLong(message) : undefined;
    if (told !== undefined) return sendEvents(res, told);
    return sendJson(res, status, { error: { code, type: code, message } }, headers);
  }
  const usage = { ...cache.account(request.model, pieces), output_tokens: outputTokens(reply.content) };
  options.onExchange?.({ at: Date.now(), request, reply, usage });
  const silent = reply.type === "message" && reply.silent === true;
  const events = dialect.answer({ request, content: reply.content, usage, silent });
  if (request.stream !== true) return sendJson(res, 200, JSON.parse(events.join("")) as object);
  const cut = reply.type === "cut";
  sendEvents(res, cut ? events.slice(0, Math.ceil(events.length / 2)) : events, cut);
}

const TOO_LONG = "context_length_exceeded";

async function answerOf(options: StandInOptions, request: ModelRequest): Promise<Reply> {
  if (options.delayMs) await new Promise((resolve) => setTimeout(resolve, options.delayMs));
  return options.behaviour(request);
}

function sendEvents(res: ServerResponse, events: readonly string[], cut = false): void {
  res.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  for (const event of events) res.write(event);
  if (cut) res.destroy();
  else res.end();
}

const NO_USAGE = { input_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 0 };

type SentBlock = { type: "text"; text: string } | { type: "tool_use"; id: string; name: string; input: unknown };

const withId = (block: ReplyBlock): SentBlock =>
  block.type === "text" ? block : { ...block, id: `toolu_${randomUUID().replaceAll("-", "").slice(0, 24)}` };

const outputTokens = (content: ReplyBlock[]): number =>
  content.reduce(
    (sum, block) =>
      sum + countTokens(block.type === "text" ? block.text : block.name + JSON.stringify(block.input)) + 4,
    0,
  );

interface Body {
  content: SentBlock[];
  stop_reason: string;
  usage: InputUsage & { output_tokens: number };
}

function stream(res: ServerResponse, body: Body, cut: boolean): void {
  res.writeHead(200, {
    "content-type": "text/event-stream",
    "cache-control": "no-cache",
    "request-id": `req_${randomUUID()}`,
  });
  const send = (type: string, data: object) =>
    res.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
  // The true output count comes only with message_delta: the first event carries a placeholder, as the real API does.
  send("message_start", {
    message: {
      ...body,
      content: [],
      stop_reason: null,
      usage: { ...body.usage, output_tokens: Math.min(1, body.usage.output_tokens) },
    },
  });
  for (const [index, block] of body.content.entries()) {
    if (block.type === "text") {
      send("content_block_start", { index, content_block: { type: "text", text: "" } });
      if (cut) {
        send("content_block_delta", {
          index,
          delta: { type: "text_delta", text: block.text.slice(0, block.text.length / 2) },
        });
        return void res.destroy();
      }
      send("content_block_delta", { index, delta: { type: "text_delta", text: block.text } });
    } else {
      const { input, ...rest } = block;
      send("content_block_start", { index, content_block: { ...rest, input: {} } });
      if (cut) return void res.destroy();
      send("content_block_delta", { index, delta: { type: "input_json_delta", partial_json: JSON.stringify(input) } });
    }
    send("content_block_stop", { index });
  }
  send("message_delta", { delta: { stop_reason: body.stop_reason, stop_sequence: null }, usage: body.usage });
  send("message_stop", {});
  res.end();
}

function readBody(req: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    req.on("data", (chunk: Buffer) => chunks.push(chunk));
    req.on("end", () => resolve(Buffer.concat(chunks).toString("utf8")));
    req.on("error", reject);
  });
}

function sendJson(res: ServerResponse, status: number, body: object, headers: Record<string, string> = {}): void {
  res.writeHead(status, { "content-type": "application/json", ...headers });
  res.end(JSON.stringify(body));
}

function sendError(
  res: ServerResponse,
  status: number,
  type: string,
  message: string,
  headers?: Record<string, string>,
) {
  sendJson(res, status, { type: "error", error: { type, message } }, headers);
}
