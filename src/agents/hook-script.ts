/** For scripts that an agent runs as its hooks: `ask(given)` asks Segno, and waits for the text of its answer. */
import type { SessionDoor } from "./session-door.js";

export const HOOK_TOOL = "hook";

export const askSource = ({ url, token }: Pick<SessionDoor, "url" | "token">): string => `
const ask = async (given) => {
  const response = await fetch(${JSON.stringify(url)}, {
    method: "POST",
    headers: {
      authorization: ${JSON.stringify(`Bearer ${token}`)},
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: ${JSON.stringify(HOOK_TOOL)}, arguments: given },
    }),
  });
  const { result } = await response.json();
  return result.content[0].text;
};
`;
