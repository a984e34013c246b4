/** The agents of a run: its own, and those that a plan or a configuration names beside it. */
import type { Agent } from "./agent.js";

export class Crew {
  readonly own: Agent;
  readonly #others: ReadonlyMap<string, Agent>;

  constructor(own: Agent, others: readonly Agent[] = []) {
    this.own = own;
    this.#others = new Map(others.map((agent) => [agent.name, agent]));
  }

  /** Whoever is not there is stood in for by the run's own. */
  of(name: string): Agent {
    return this.#others.get(name) ?? this.own;
  }

  get all(): Agent[] {
    return [this.own, ...this.#others.values()];
  }
}
