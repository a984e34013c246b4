/**
 * What opencode loads beside the user's own plugins: before each model call, each tool and each permission it asks Segno,
 * and waits for the answer.
 */

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { askSource } from "../hook-script.js";
import type { SessionDoor } from "../session-door.js";

/** How a refusal begins: opencode tells its model errors of tools as texts like any other. */
const REFUSED = "Tool refused:";

/** What it asks. */
export type HookInput =
  | { at: "before"; session: string; model: { id: string; limit?: Limit } }
  | { at: "tool"; session: string; name: string; id: string; input: unknown }
  | { at: "tool-over"; session: string; id: string };

export interface Limit {
  context?: number;
  input?: number;
  output?: number;
}

/** What it does with the answer. */
export interface HookAnswer {
  refusal?: string | undefined;
}

const source = (door: Pick<SessionDoor, "url" | "token">): string => `${askSource(door)}
export default {
  id: "segno",
  server: async () => ({
    "chat.params": async ({ sessionID: session, agent, model }) => {
      if (agent !== "title") await ask({ at: "before", session, model: { id: model.id, limit: model.limit } });
    },
    "tool.execute.before": async ({ tool: name, sessionID: session, callID: id }, { args: input }) => {
      const { refusal } = JSON.parse(await ask({ at: "tool", session, name, id, input }));
      if (refusal !== undefined) throw new Error(${JSON.stringify(`${REFUSED} `)} + refusal);
    },
    "tool.execute.after": async ({ sessionID: session, callID: id }) => {
      await ask({ at: "tool-over", session, id });
    },
  }),
};
`;

/** In a folder that only the user can read: the token is in it. */
export function writePlugin(door: Pick<SessionDoor, "url" | "token">): { folder: string; file: string } {
  const folder = mkdtempSync(join(tmpdir(), "segno-opencode-"));
  const file = join(folder, "segno.js");
  writeFileSync(file, source(door), { mode: 0o600 });
  return { folder, file };
}
