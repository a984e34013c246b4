/** Who may work in a run, and what is to be said of them before it begins. */
import { shortcomings } from "../agents/agent.js";
import type { Config } from "../config/schema.js";
import type { Equipment } from "./held-run.js";

export const agentsOf = ({ agent, others = [] }: Equipment): string[] => [agent, ...others].map(({ name }) => name);

export const shortcomingsOf = ({ agent, others = [], notices = [] }: Equipment, config: Config): string[] => [
  ...notices,
  ...[agent, ...others].flatMap((each) => shortcomings(each, config)),
];
