/** How much a message's content adds to a prompt: its text, and its images apart. */
export function sizeOf(content: unknown): { chars: number; images: number } {
  if (typeof content === "string") return { chars: content.length, images: 0 };
  if (!Array.isArray(content))
    return { chars: content === undefined || content === null ? 0 : JSON.stringify(content).length, images: 0 };
  let [chars, images] = [0, 0];
  for (const block of content as ({ type?: string; text?: unknown; content?: unknown } | null)[]) {
    if (typeof block !== "object" || block === null) continue;
    if (block.type === "image") images++;
    else if (typeof block.text === "string") chars += block.text.length;
    else if (block.content !== undefined) {
      const inner = sizeOf(block.content);
      chars += inner.chars;
      images += inner.images;
    } else chars += JSON.stringify(block).length;
  }
  return { chars, images };
}
