/** How others count what is in a window: shown beside the meter, so that one sees why it matters. */
export class Baselines {
  #reads = 0;
  #outputs = 0;
  #prompts = 0;
  #own = 0;
  #sum = 0;
  #sumWithCache = 0;

  appended(kind: "reads" | "outputs" | "prompts", chars: number): void {
    if (kind === "reads") this.#reads += chars;
    else if (kind === "outputs") this.#outputs += chars;
    else this.#prompts += chars;
  }

  said(chars: number): void {
    this.#own += chars;
  }

  called(usage: { input: number; cacheRead: number; cacheWrite: number; output: number }): void {
    this.#sum += usage.input + usage.output;
    this.#sumWithCache += usage.input + usage.cacheRead + usage.cacheWrite + usage.output;
  }

  /** What each way says the next prompt will be. */
  get expected(): Record<string, number> {
    const visible = this.#reads + this.#outputs + this.#prompts;
    return {
      "chars/4 x 1.3 of reads, outputs, prompts": (visible / 4) * 1.3,
      "chars/4 of all that is visible": (visible + this.#own) / 4,
      "sum of input and output": this.#sum,
      "the same with cache reads": this.#sumWithCache,
    };
  }
}
