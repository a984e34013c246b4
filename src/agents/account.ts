/** The same agent with another login: another home, or other keys. To everybody else it is an agent of its own. */
import { homedir } from "node:os";
import type { Agent } from "./agent.js";

export interface Account {
  agent: string;
  home?: string | undefined;
  /** For each variable that it gets, the variable that holds the value. */
  env?: Readonly<Record<string, string>> | undefined;
}

export function withAccount(agent: Agent, name: string, { home, env = {} }: Account): Agent {
  const own = (given: Readonly<Record<string, string>>): Record<string, string> => ({
    ...given,
    ...(home === undefined ? {} : { [agent.homeVariable]: home.replace(/^~(?=\/|$)/, homedir()) }),
    ...Object.fromEntries(Object.entries(env).map(([variable, from]) => [variable, given[from] ?? ""])),
  });
  return {
    ...agent,
    name,
    title: `${agent.title} (${name})`,
    account: (given) => agent.account(own(given)),
    check: (given, cwd) => agent.check(own(given), cwd),
    checkQuickly: (given, cwd) => agent.checkQuickly(own(given), cwd),
    canResume: (session, given) => agent.canResume(session, own(given)),
    open: (options) => agent.open({ ...options, env: own(options.env) }),
  };
}
