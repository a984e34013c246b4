/** What a behaviour answers to a request: words and tool calls, or a fault. */
export type ReplyBlock =
  | { type: "text"; text: string }
  | { type: "tool_use"; name: string; input: Record<string, unknown> };

export type Reply =
  /** `silent`: without usage figures. */
  | { type: "message"; content: ReplyBlock[]; silent?: boolean }
  | { type: "error"; status: number; error: string; message: string; headers?: Record<string, string> }
  | { type: "cut"; content: ReplyBlock[] }
  | { type: "hang" };

export const say = (text: string): ReplyBlock => ({ type: "text", text });
export const call = (name: string, input: Record<string, unknown>): ReplyBlock => ({ type: "tool_use", name, input });
export const message = (...content: ReplyBlock[]): Reply => ({ type: "message", content });
