/** How large a session's window is: what its agent says, what the user caps it to, and what it turns out to be. */
import type { Agent } from "../agents/agent.js";
import type { Learned } from "../context/forecast.js";
import { handoverPoint, handoversOn, type Limits } from "../context/policy.js";
import type { HeldRun } from "./held-run.js";
import type { ReportPlace } from "./reports.js";

const MUCH_EARLIER = 0.9;

export class SessionWindow {
  readonly #held: HeldRun;
  readonly #place: ReportPlace;
  readonly #agent: Agent;
  readonly #learned: Learned;
  /** All that the model takes, whatever counts as the window here. */
  whole: number;
  #window: number;
  #compactAt: number | undefined;

  constructor(held: HeldRun, place: ReportPlace, agent: Agent, learned: Learned, assumed: number) {
    this.#held = held;
    this.#place = place;
    this.#agent = agent;
    this.#learned = learned;
    this.whole = assumed;
    this.#window = assumed;
  }

  limits(reserve: number): Limits {
    return { window: this.#window, whole: this.whole, compactAt: this.#compactAt, reserve };
  }

  /** The agent says so; 0: it does not know. What was seen here before counts, too. The answer is what counts from now on. */
  told(window: number, compactAt: number | undefined, model: string | undefined): number {
    const seen = this.#learned.windows?.[this.#keyOf(model)] ?? Number.POSITIVE_INFINITY;
    this.#compactAt = compactAt;
    return this.#known(Math.min(window || this.whole, seen));
  }

  /** It is smaller than it was said to be: that counts from now on, for this model and this account. */
  seen(tokens: number, why: string, model: string | undefined): number {
    const { run, store } = this.#held;
    run.warn(
      `The window of ${model ?? "the model"} is ${tokens} tokens here, not ${this.whole}: ${why}. That counts from now on.`,
    );
    // It only ever helps: a run does not end for it.
    const learned = { firstPrompts: [], samples: [], windows: { [this.#keyOf(model)]: tokens } };
    store.learn(this.#agent.name, learned).catch(() => {});
    return this.#known(tokens);
  }

  /** Far below where it should: the window is not what it was said to be. */
  isMuchEarlier(compactedAt: number): boolean {
    return compactedAt > 0 && compactedAt < (this.#compactAt ?? this.whole) * MUCH_EARLIER;
  }

  /** And so where the session is handed over. */
  #known(whole: number): number {
    const { run } = this.#held;
    const { config } = run.state;
    this.whole = whole;
    this.#window = Math.min(whole, config.context_limit ?? Number.POSITIVE_INFINITY);
    const { tokens, rule } = handoverPoint(config, this.limits(0));
    const soft = config.context_policy === "restart" ? config.context_soft : "off";
    const hands = handoversOn(config) ? { tokens: Math.round(tokens), rule, soft } : undefined;
    const { phase, attempt, session } = this.#place;
    const known = { window: this.#window, whole, compactAt: this.#compactAt, hands };
    run.append({ type: "window-known", phase, attempt, session, ...known });
    return this.#window;
  }

  #keyOf(model: string | undefined): string {
    return `${model ?? ""} ${this.#agent.account(this.#held.agentEnv)}`.trim();
  }
}
