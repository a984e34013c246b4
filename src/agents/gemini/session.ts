/** A session of Gemini CLI: the protocol's, with a hook that asks before each model call and its own record of usage. */
import { openAcpSession } from "../acp/session.js";
import type { AgentSession, SessionOptions } from "../agent.js";
import { HOOK_TOOL } from "../hook-script.js";
import { openSessionDoor } from "../session-door.js";
import { makeHome } from "./home.js";
import { WINDOW } from "./models.js";
import { Transcript } from "./transcript.js";

const REHEARSAL_MODEL = "gemini-2.5-pro";

const NO_TOOLS = { list: [], call: async () => ({ text: "There are no tools here.", isError: true }) };
/** Where it sums up by itself, of its window. */
const COMPACTS_AT = 0.5;

export async function openGemini(options: SessionOptions, executable: string): Promise<AgentSession> {
  const { env, compacts, deniedTools, isolated, handlers } = options;
  // Left to choose, it looks for a model for a long while where there is none but the stand-in.
  const model = options.model ?? (isolated ? REHEARSAL_MODEL : undefined);
  let transcript: Transcript | undefined;
  let path = "";
  let session: Awaited<ReturnType<typeof openAcpSession>> | undefined;
  const hook = async (given: Record<string, unknown>): Promise<string> => {
    if (typeof given.transcript === "string" && given.transcript !== path) {
      path = given.transcript;
      transcript = new Transcript(path);
      // What was counted before this session is not of it.
      if (options.resume !== undefined) transcript.newCalls();
    }
    const goes = (await session?.beforeCall()) ?? true;
    return JSON.stringify(goes ? {} : { continue: false, stopReason: "Segno" });
  };
  const door = await openSessionDoor(NO_TOOLS, new Map([[HOOK_TOOL, hook]]));
  const { home, keep, remove } = makeHome(env, door, { compacts, deniedTools, isolated });
  const approval = ["--approval-mode", "default"];
  const command = [
    executable,
    "--acp",
    "--skip-trust",
    ...approval,
    ...(model === undefined ? [] : ["--model", model]),
  ];
  session = await openAcpSession(
    { ...options, env: { ...env, GEMINI_CLI_HOME: home, GEMINI_CLI_NO_RELAUNCH: "true" }, model: undefined },
    {
      command,
      model,
      record: {
        newCalls: () => transcript?.newCalls() ?? [],
        resultOf: (id) => transcript?.resultOf(id),
      },
      close: async () => {
        await door.close();
        remove();
      },
    },
  );
  keep();
  handlers.observe({
    type: "window",
    window: WINDOW,
    compactAt: compacts ? Math.round(WINDOW * COMPACTS_AT) : undefined,
  });
  return session;
}
