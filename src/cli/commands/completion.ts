/** Shell completion: what could come next, from the commands themselves and from the journal. It starts nothing. */
import type { Command } from "commander";
import { configSchema, PERMISSION_LEVELS } from "../../config/schema.js";
import { POLICIES } from "../../context/policy.js";
import { FORMATS } from "../../plan/model.js";
import { FileStore } from "../../store/file.js";
import { RunView } from "../../view/board.js";
import { figuresOf, type RunFigures } from "../../view/report.js";
import { EXIT } from "../exit.js";
import { printFailure } from "../print-failure.js";
import { repositoryTop } from "../top.js";

const SCRIPTS: Record<string, string> = {
  // Words come from plans: they are data, and nothing of them is expanded.
  bash: `_segno() {
  local word
  COMPREPLY=()
  while IFS= read -r word; do
    [ -n "$word" ] && COMPREPLY+=("$(printf %q "$word")")
  done < <(segno complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _segno segno`,
  zsh: `_segno() {
  local -a found
  found=("\${(@f)$(segno complete -- "\${words[@]:1:$((CURRENT-1))}" 2>/dev/null)}")
  [[ -n "$found" ]] && compadd -- "\${found[@]}" || _files
}
compdef _segno segno`,
  fish: `complete -c segno -f -a '(segno complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null; or true)'
complete -c segno -n '__fish_seen_subcommand_from run rehearse audit forecast' -F`,
};

export async function completionCommand(shell: string): Promise<number> {
  const script = SCRIPTS[shell];
  if (script === undefined)
    return printFailure(
      { type: "usage", what: `There is no completion for ${shell}.`, fix: "bash, zsh or fish." },
      false,
    );
  console.log(script);
  return EXIT.done;
}

/** Whatever goes wrong, nothing is said: somebody is typing. */
export async function completeCommand(words: readonly string[], program: Command): Promise<void> {
  const found = await candidates(words, program).catch(() => []);
  const begun = words.at(-1) ?? "";
  const fitting = [...new Set(found)].filter((word) => word.startsWith(begun));
  if (fitting.length > 0) console.log(fitting.join("\n"));
}

/** Values of flags that have a few. */
const VALUES: Record<string, readonly string[]> = {
  "--format": FORMATS,
  "--permission-mode": PERMISSION_LEVELS,
  "--context-policy": POLICIES,
  "--on-failure": ["continue", "stop"],
  "--split": ["auto", "ask", "off"],
  "--branch": ["current", "auto"],
  "--sub-phases": ["together", "separate"],
};
const PHASE_FLAGS = new Set(["--phase", "--only", "--from", "--phases"]);
const RUN_COMMANDS = new Set(["resume", "status", "watch", "report", "logs", "dashboard", "diff", "undo", "snapshots"]);

async function candidates(words: readonly string[], program: Command): Promise<readonly string[]> {
  const [name = "", ...rest] = words;
  if (rest.length === 0)
    return program
      .createHelp()
      .visibleCommands(program)
      .map((command) => command.name());
  const before = rest.at(-2) ?? "";
  if (VALUES[before] !== undefined) return VALUES[before];
  if (PHASE_FLAGS.has(before)) return (await newest())?.phases.map(({ id }) => id) ?? [];
  if (before === "--of") return runs();
  const command = program.commands.find((each) => each.name() === name);
  if (command === undefined) return [];
  if ((rest.at(-1) ?? "").startsWith("-")) return command.options.flatMap(({ long }) => long ?? []);
  return argumentsOf(name, rest);
}

async function argumentsOf(name: string, rest: readonly string[]): Promise<readonly string[]> {
  switch (name) {
    case "skip":
      return (await newest())?.phases.filter(({ status }) => status !== "done").map(({ id }) => id) ?? [];
    case "gate":
      return (await newest())?.phases.flatMap(({ gates }) => gates.map((gate) => gate.name)) ?? [];
    case "answer":
      return (await newest())?.questions.flatMap(({ choices }) => choices.map((choice) => choice.name)) ?? [];
    case "config":
      return rest.length === 1 ? ["get", "set", "unset"] : Object.keys(configSchema.shape);
    case "completion":
      return Object.keys(SCRIPTS);
    default:
      return RUN_COMMANDS.has(name) ? runs() : [];
  }
}

async function runs(): Promise<string[]> {
  const top = await repositoryTop();
  if (!top.ok) return [];
  return (await new FileStore(top.value).list()).map((run) => run.split("-").at(-1) ?? run);
}

async function newest(): Promise<RunFigures | undefined> {
  const top = await repositoryTop();
  if (!top.ok) return undefined;
  const store = new FileStore(top.value);
  const [run] = await store.list();
  if (run === undefined) return undefined;
  const view = new RunView();
  for (const event of (await store.read(run)).events) view.take(event);
  return view.board === undefined ? undefined : figuresOf(view.board);
}
