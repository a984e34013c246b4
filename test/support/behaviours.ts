/** Ways the stand-in can behave, beside its worker. */
import { message, type Reply, type ReplyBlock } from "../../src/rehearsal/reply.js";
import type { ModelRequest } from "../../src/rehearsal/request.js";
import type { Behaviour } from "../../src/rehearsal/server.js";

/** The first message of the first session does this; the worker goes on from there. */
export function firstly(...blocks: ReplyBlock[]): (request: ModelRequest, worker: Behaviour) => Reply | Promise<Reply> {
  let first = true;
  return (request, worker) => {
    if (!first || (request.tools ?? []).length === 0) return worker(request);
    first = false;
    return message(...blocks);
  };
}
