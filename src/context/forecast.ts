/** What a phase will need: its context, sessions, calls, tokens and cost, before anything is spent. */
import { handoverCost, rereadTokens, weighHandover } from "./economy.js";
import { type ContextPolicy, handoverPoint, limitsOf, thresholdTokens } from "./policy.js";
import { costAt, type Price } from "./prices.js";

/** What earlier phases in this repository needed, per agent. */
export interface Learned {
  /** Prompts of first calls, newest last. */
  firstPrompts: readonly number[];
  samples: readonly Sample[];
  /** What repairs brought into their windows, for each thing that had failed. */
  repairs?: readonly number[] | undefined;
  /** What sessions that went on from a checkpoint read again before they wrote anything. */
  rereads?: readonly number[] | undefined;
  /** Windows that turned out smaller than they were said to be, by model and account. */
  windows?: Readonly<Record<string, number>> | undefined;
}

export interface Sample {
  tasks: number;
  calls: number;
  /** Tokens that the phase brought into its windows, over all its sessions. */
  growth: number;
  output: number;
  model: string;
  window: number;
}

export const NOTHING_LEARNED: Learned = { firstPrompts: [], samples: [] };

export interface PhaseShape {
  id: string;
  tasks: readonly { id: string; title: string }[];
  complexity: string | undefined;
  /** Tokens of Segno's own prompt for it, and of the files it names. */
  prompt: number;
  files: number;
  /** Whether a session judges it, because no gate does. */
  judged?: boolean | undefined;
}

export interface ForecastSettings {
  model?: string | undefined;
  context_limit?: number | undefined;
  context_policy?: ContextPolicy | undefined;
  context_threshold: number;
  context_soft: number | "auto" | "off";
  context_max_tokens: number | "off";
  max_tokens: number;
  max_cost_usd: number;
}

export interface PhaseForecast {
  phase: string;
  prompt: number;
  files: number;
  /** Tokens its tasks bring in. */
  work: number;
  /** All of it in one window, if it had room. */
  context: number;
  /** `context` of what one session may fill, in percent. */
  percent: number;
  sessions: number;
  calls: number;
  tokens: number;
  cost_usd: number | null;
  /** Groups of tasks that would fit a session each, where the whole does not. */
  split: string[][];
}

export interface Forecast {
  phases: PhaseForecast[];
  window: number;
  /** Tokens one session may fill. */
  budget: number;
  /** How many earlier phases it rests on; 0 means public figures only. */
  samples: number;
  total: { sessions: number; tokens: number; cost_usd: number | null };
  warnings: string[];
}

/** Means of 30,179 public calls; how many calls a task needs is a guess until phases were seen here. */
const FACTS = { firstPrompt: 32_800, growthPerCall: 1_370, callsPerTask: 10, outputPerCall: 500 };
const COMPLEXITY: [RegExp, number][] = [
  [/simple|low|small|trivial/i, 0.6],
  [/complex|high|large|hard/i, 1.6],
];
const FULL = 80;
/** What independent verification and remediation add to a phase: a session each, of about a third of its work. */
const QUALITY = 1.7;
/** Calls of a session that judges a phase without gates: it looks at some files, and says what it found. */
const JUDGING_CALLS = 4;

export function forecastPlan(
  phases: readonly PhaseShape[],
  settings: ForecastSettings,
  learned: Learned,
  flags: { quality?: boolean; force?: boolean } = {},
  priceOf: (model: string) => Price | undefined = () => undefined,
): Forecast {
  const recent = learned.samples.slice(-20);
  const model = settings.model ?? recent.at(-1)?.model;
  const window = Math.min(settings.context_limit ?? Number.POSITIVE_INFINITY, recent.at(-1)?.window ?? 200_000);
  const budget = Math.round(thresholdTokens(settings, limitsOf(window)));
  const first = middle(learned.firstPrompts) ?? FACTS.firstPrompt;
  const per = perTask(recent);
  const forecasts = phases.map((shape) => {
    const tasks = Math.max(1, shape.tasks.length);
    const factor = recent.length > 0 ? 1 : complexityFactor(shape.complexity);
    const start = first + shape.prompt;
    const work = Math.round(tasks * per.growth * factor) + shape.files;
    const calls = Math.ceil(tasks * per.calls * factor);
    const { sessions, prompts } =
      settings.context_soft === "auto"
        ? economic({ tasks, calls, work, start, budget })
        : filled({ calls, work, start, budget, room: roomOf(settings.context_soft, start, budget, window) });
    const quality = flags.quality === true ? QUALITY : 1;
    const judging = shape.judged === true && flags.quality !== true ? JUDGING_CALLS : 0;
    const tokens = Math.round(prompts * quality + judging * start);
    const written = (work + sessions * start) * quality + (judging > 0 ? start : 0);
    const output = calls * per.output * quality + judging * per.output;
    const cost =
      model === undefined
        ? undefined
        : costAt(priceOf(model), { input: 0, cacheRead: Math.max(0, tokens - written), cacheWrite: written, output });
    const context = start + work;
    const percent = Math.round((context / budget) * 100);
    const fits = Math.max(1, Math.floor(((FULL / 100) * budget - start) / Math.max(1, work / tasks)));
    return {
      phase: shape.id,
      prompt: shape.prompt,
      files: shape.files,
      work,
      context,
      percent,
      sessions: sessions + (judging > 0 ? 1 : 0),
      calls: calls + judging,
      tokens,
      cost_usd: cost === undefined ? null : Math.round(cost * 100) / 100,
      split: percent > FULL && shape.tasks.length > 1 ? taskGroups(shape.tasks, fits) : [],
    };
  });
  const sum = (pick: (phase: PhaseForecast) => number) => forecasts.reduce((total, phase) => total + pick(phase), 0);
  const unpriced = forecasts.some((phase) => phase.cost_usd === null);
  const total = {
    sessions: sum((phase) => phase.sessions),
    tokens: sum((phase) => phase.tokens),
    cost_usd: unpriced ? null : Math.round(sum((phase) => phase.cost_usd ?? 0) * 100) / 100,
  };
  const warnings = [
    ...thresholdWarnings(settings, window),
    ...forecasts.flatMap(phaseWarnings),
    ...flagWarnings(total, phases.length, flags),
    ...budgetWarnings(total, phases.length, settings, flags),
  ];
  return { phases: forecasts, window, budget, samples: recent.length, total, warnings };
}

/** What a session takes in before it is handed over at a percentage. */
function roomOf(soft: number | "off", start: number, budget: number, window: number): number {
  const end = soft === "off" ? budget : Math.min(budget, (window * soft) / 100);
  return Math.max(end - start, budget / 10);
}

interface Needed {
  sessions: number;
  /** All its calls' prompts together. */
  prompts: number;
}

/** Every session is filled up to where it is handed over. */
function filled({
  calls,
  work,
  start,
  room,
}: {
  calls: number;
  work: number;
  start: number;
  budget: number;
  room: number;
}): Needed {
  const sessions = Math.max(1, Math.ceil(work / room));
  const average = start + Math.min(work, room) / 2;
  return { sessions, prompts: (calls + sessions - 1) * average };
}

/** Task by task, as the policy itself weighs it. */
function economic({
  tasks,
  calls,
  work,
  start,
  budget,
}: {
  tasks: number;
  calls: number;
  work: number;
  start: number;
  budget: number;
}): Needed {
  const [perTask, growth] = [calls / tasks, work / calls];
  const reread = rereadTokens([]);
  let [sessions, prompts, tokens, since, carried, first] = [1, 0, start, 0, 0, start];
  for (let task = 1; task <= tasks; task++) {
    prompts += perTask * (tokens + (growth * perTask) / 2);
    carried += perTask * (tokens - first + (growth * perTask) / 2);
    tokens += growth * perTask;
    since += perTask;
    const costs = { price: undefined, checkpoints: [], starts: [], rereading: [], firstPrompt: first, promptTokens: 0 };
    const callsLeft = (tasks - task) * perTask;
    const economy = {
      price: undefined,
      calls: since,
      carried,
      callsLeft,
      handover: handoverCost(tokens, costs),
      reread,
    };
    if (task === tasks || (tokens < budget && !weighHandover(tokens, first, economy).worth)) continue;
    // The checkpoint's turn, and what a fresh session begins with.
    prompts += tokens;
    first = start + CHECKPOINT_TOKENS;
    [sessions, tokens, since, carried] = [sessions + 1, first + reread, 0, 0];
  }
  return { sessions, prompts };
}

const CHECKPOINT_TOKENS = 1_000;

/** A threshold that cannot be kept is said before the run, with what counts instead. */
function thresholdWarnings({ context_threshold, context_policy }: ForecastSettings, window: number): string[] {
  if (context_threshold >= 100 || context_policy === "observe") return [];
  const { rule, tokens } = handoverPoint({ context_threshold, context_max_tokens: "off" }, limitsOf(window));
  if (rule !== "agent") return [];
  const percent = Math.floor((tokens / window) * 1_000) / 10;
  return [
    `context_threshold: ${context_threshold} cannot be kept in a window of ${window} tokens: a checkpoint and one large result must still fit. ${Math.round(tokens)} (${percent} %) counts instead; a model with a larger window allows more.`,
  ];
}

function phaseWarnings({ phase, percent, sessions, split }: PhaseForecast): string[] {
  if (percent <= FULL) return [];
  const groups = split.map((group) => (group.length === 1 ? group[0] : `${group[0]} to ${group.at(-1)}`));
  const proposal = groups.length > 1 ? ` It could be split into ${groups.length}: ${groups.join("; ")}.` : "";
  return [
    `Phase ${phase} is expected to need ${percent} % of what one session may fill, and so about ${sessions} sessions.${proposal}`,
  ];
}

/** Runs that do more than the plan asks for say what that takes, before they begin. */
function flagWarnings(
  { sessions, tokens, cost_usd }: Forecast["total"],
  phases: number,
  { quality, force }: { quality?: boolean; force?: boolean },
): string[] {
  const flags = [force === true ? "--force" : "", quality === true ? "--quality" : ""].filter((flag) => flag !== "");
  if (flags.length === 0 || phases < 2) return [];
  const dollars = (share: number) => (cost_usd === null ? "" : `, $${(cost_usd * share).toFixed(2)}`);
  const own = 1 - 1 / QUALITY;
  const extra =
    quality === true ? ` Judging and repairing them is ${Math.round(tokens * own)} tokens${dollars(own)} of that.` : "";
  return [
    `${flags.join(" and ")} on ${phases} phases is expected to need about ${sessions} sessions and ${tokens} tokens${dollars(1)}.${extra}`,
  ];
}

function budgetWarnings(
  total: Forecast["total"],
  phases: number,
  { max_tokens, max_cost_usd }: ForecastSettings,
  { quality, force }: { quality?: boolean; force?: boolean },
): string[] {
  const over: string[] = [];
  if (total.tokens > max_tokens) over.push(`${total.tokens} tokens of ${max_tokens} (max_tokens)`);
  if (total.cost_usd !== null && total.cost_usd > max_cost_usd)
    over.push(`$${total.cost_usd} of $${max_cost_usd} (max_cost_usd)`);
  if (over.length === 0) return [];
  const flags = [force === true ? "--force" : "", quality === true ? "--quality" : ""].filter((flag) => flag !== "");
  const because = flags.length > 0 && phases > 1 ? ` with ${flags.join(" and ")} on ${phases} phases` : "";
  return [`The run is expected to exceed its budget${because}: ${over.join(", ")}. Run fewer phases, or raise it.`];
}

function perTask(samples: readonly Sample[]): { growth: number; calls: number; output: number } {
  const tasks = samples.reduce((sum, sample) => sum + Math.max(1, sample.tasks), 0);
  const calls = samples.reduce((sum, sample) => sum + sample.calls, 0);
  if (tasks === 0 || calls === 0) {
    const { growthPerCall, callsPerTask, outputPerCall } = FACTS;
    return { growth: growthPerCall * callsPerTask, calls: callsPerTask, output: outputPerCall };
  }
  const growth = samples.reduce((sum, sample) => sum + sample.growth, 0);
  const output = samples.reduce((sum, sample) => sum + sample.output, 0);
  return { growth: growth / tasks, calls: calls / tasks, output: output / calls };
}

const complexityFactor = (complexity: string | undefined): number =>
  COMPLEXITY.find(([form]) => form.test(complexity ?? ""))?.[1] ?? 1;

/** Groups that the plan itself makes by its numbers (6A.1, 6A.2; 6B.1), else equal parts in order. */
export function taskGroups(tasks: readonly { id: string }[], most: number): string[][] {
  const groups = new Map<string, string[]>();
  for (const { id } of tasks) {
    const key = id.includes(".") ? id.slice(0, id.lastIndexOf(".")) : "";
    groups.set(key, [...(groups.get(key) ?? []), id]);
  }
  if (groups.size > 1) return [...groups.values()];
  const parts = Math.min(tasks.length, Math.ceil(tasks.length / Math.max(1, most)));
  return Array.from({ length: parts }, (_, part) =>
    tasks
      .slice(Math.round((part * tasks.length) / parts), Math.round(((part + 1) * tasks.length) / parts))
      .map((task) => task.id),
  );
}

function middle(values: readonly number[]): number | undefined {
  return values.slice(-20).toSorted((a, b) => a - b)[Math.floor(Math.min(values.length, 20) / 2)];
}

/** What a repair needs for each thing that failed, if one was ever seen. */
export const seenRepair = ({ repairs = [] }: Learned): number | undefined => middle(repairs);

/** The median prompt of a first call of this agent here, if one was ever seen. */
export const seenFirstPrompt = ({ firstPrompts }: Learned): number | undefined => middle(firstPrompts);
