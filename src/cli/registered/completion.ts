import type { Command } from "commander";
import { EXIT, end } from "../exit.js";

export function register(program: Command): void {
  program
    .command("completion")
    .argument("<shell>", "bash, zsh or fish")
    .description("Print what makes a shell complete commands, flags, runs, phases, gates and answers.")
    .addHelpText(
      "after",
      '\nExamples:\n  eval "$(segno completion bash)"          in ~/.bashrc\n  eval "$(segno completion zsh)"           in ~/.zshrc, after compinit\n  segno completion fish > ~/.config/fish/completions/segno.fish',
    )
    .action(async (shell) => end(await (await import("../commands/completion.js")).completionCommand(shell)));

  program
    .command("complete", { hidden: true })
    .argument("[words...]", "what is typed so far, the last of it perhaps half")
    .action(async (words: string[]) => {
      await (await import("../commands/completion.js")).completeCommand(words, program);
      end(EXIT.done);
    });
}
