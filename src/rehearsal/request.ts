/** What the stand-in reads of a Messages API request, and the questions it asks about it. */
import { countTokens } from "./tokens.js";

export interface TextBlock {
  type: "text";
  text: string;
  cache_control?: unknown;
}
export interface ToolUseBlock {
  type: "tool_use";
  id: string;
  name: string;
  input: Record<string, unknown>;
  cache_control?: unknown;
}
export interface ToolResultBlock {
  type: "tool_result";
  tool_use_id: string;
  content?: string | { type: string; text?: string }[];
  is_error?: boolean;
  cache_control?: unknown;
}
export type Block = TextBlock | ToolUseBlock | ToolResultBlock | { type: "other"; cache_control?: unknown };

export interface RequestMessage {
  role: "user" | "assistant" | "system";
  content: string | Block[];
}

export interface ModelRequest {
  model: string;
  max_tokens?: number;
  stream?: boolean;
  system?: string | TextBlock[];
  tools?: { name: string; cache_control?: unknown }[];
  messages: RequestMessage[];
}

/** One piece of the prompt in the order the model reads it: the unit of counting and of caching. */
export interface Piece {
  text: string;
  breakpoint: boolean;
}

export function blocksOf(message: RequestMessage): Block[] {
  return typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content;
}

export function resultText(block: ToolResultBlock): string {
  if (block.content === undefined) return "";
  if (typeof block.content === "string") return block.content;
  return block.content.map((part) => part.text ?? "").join("\n");
}

function blockText(block: Block): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "tool_use":
      return `${block.name} ${JSON.stringify(block.input)}`;
    case "tool_result":
      return resultText(block);
    default: {
      const { cache_control: _, ...rest } = block as Record<string, unknown>;
      return JSON.stringify(rest);
    }
  }
}

const marked = (part: { cache_control?: unknown }): boolean => part.cache_control !== undefined;

/** A header that the client sends as a block: it differs from session to session, and no model reads it. */
const HEADER = /^x-anthropic-billing-header:/;

/** The prompt as the model reads it: tools, system, messages. */
export function piecesOf(request: ModelRequest): Piece[] {
  const pieces: Piece[] = [];
  for (const tool of request.tools ?? []) {
    const { cache_control: _, ...rest } = tool;
    pieces.push({ text: JSON.stringify(rest), breakpoint: marked(tool) });
  }
  const system =
    typeof request.system === "string" ? [{ type: "text" as const, text: request.system }] : request.system;
  for (const block of system ?? [])
    if (!HEADER.test(block.text)) pieces.push({ text: block.text, breakpoint: marked(block) });
  for (const message of request.messages) {
    for (const block of blocksOf(message)) {
      pieces.push({ text: blockText(block), breakpoint: marked(block) });
    }
  }
  return pieces;
}

/** Tokens of a piece, with the few that a block's own framing costs. */
export const tokensOfPiece = (piece: Piece): number => countTokens(piece.text) + 4;

export const promptTokens = (request: ModelRequest): number =>
  piecesOf(request).reduce((sum, piece) => sum + tokensOfPiece(piece), 0);

/** All text a person or Segno said, in order; tool results and the model's own words are left out. */
export function userTexts(request: ModelRequest): string[] {
  return request.messages
    .filter((message) => message.role === "user")
    .flatMap((message) => blocksOf(message))
    .flatMap((block) => (block.type === "text" ? [block.text] : []));
}

/** What the model is asked right now: everything said since it last spoke, beside any tool results. */
export function lastTexts(request: ModelRequest): string[] {
  const spoke = request.messages.findLastIndex((message) => message.role === "assistant");
  return userTexts({ ...request, messages: request.messages.slice(spoke + 1) });
}
