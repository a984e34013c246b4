/**
 * The agent in process behind the built command line: it asks the stand-in of the test over HTTP what to do. Loaded into
 * every Segno of a test by `preload-agent.mjs`; for tests whose subject is not the agent.
 */
import type { Reply, ReplyBlock } from "../../src/rehearsal/reply.js";
import type { ModelRequest } from "../../src/rehearsal/request.js";
import { inProcessAgent } from "./in-process-agent.js";

interface Answer {
  content: ReplyBlock[];
  usage: Record<string, number>;
  error: { type: string; message: string };
}

async function ask(request: ModelRequest, env: Readonly<Record<string, string>>): Promise<Reply> {
  const response = await fetch(`${env.ANTHROPIC_BASE_URL}/v1/messages`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    // Who asks is told from others by what their account gives them.
    body: JSON.stringify({ ...request, model: env.WHO ?? request.model, stream: false }),
  });
  const { content, usage, error } = (await response.json()) as Answer;
  if (response.ok) return { type: "message", content, silent: Object.values(usage).every((count) => count === 0) };
  return {
    type: "error",
    status: response.status,
    error: error.type,
    message: error.message,
    headers: Object.fromEntries(response.headers),
  };
}

export const agent = inProcessAgent({ behaviour: ask, name: "scripted" });
