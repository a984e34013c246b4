/** When a session is handed over, in words: which rule counts, and at how many tokens. */
import type { ContextSettings, HandoverPoint } from "../context/policy.js";
import { thousands } from "./numbers.js";

const BY: Record<HandoverPoint["rule"], string> = {
  threshold: "context_threshold",
  cap: "context_max_tokens",
  agent: "as far as the agent can go",
};

export function handsOverText(
  { tokens, rule }: HandoverPoint,
  soft: ContextSettings["context_soft"],
  window: number,
): string {
  const percent = Math.round((tokens / window) * 100);
  const earlier =
    soft === "off"
      ? ""
      : soft === "auto"
        ? "; after a finished task earlier, where that is cheaper"
        : `; after a finished task from ${thousands((window * soft) / 100)} on`;
  return `handed over at ${thousands(tokens)} (${percent} %, ${BY[rule]})${earlier}`;
}
