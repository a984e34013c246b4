/** Asks the process that holds a run to do something, through its door. */
import type { Address } from "../store/store.js";

export async function askHolder(
  door: Pick<Address, "url" | "token">,
  path: string,
  body: object,
): Promise<{ ok: boolean; message: string }> {
  try {
    const response = await fetch(`${door.url}/${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${door.token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(10_000),
    });
    return (await response.json()) as { ok: boolean; message: string };
  } catch (error) {
    return { ok: false, message: `The run did not answer: ${error instanceof Error ? error.message : String(error)}` };
  }
}
