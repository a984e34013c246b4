/** Prompts for a session whose input stays open: an async iterable that ends when told to. */
export class PromptQueue<T> implements AsyncIterable<T> {
  readonly #waiting: T[] = [];
  #wake: (() => void) | undefined;
  #ended = false;

  push(prompt: T): void {
    this.#waiting.push(prompt);
    this.#wake?.();
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<T> {
    for (;;) {
      const prompt = this.#waiting.shift();
      if (prompt !== undefined) yield prompt;
      else if (this.#ended) return;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }
}
