/** Shell completion: the scripts, and the command that they call on every Tab. */

import { type AddCommands, COMPLETION_SHELLS, JSON_OPTION } from "./group.js";

export const addCompletion: AddCommands = (program, run) => {
	program
		.command("completion")
		.description("Print the script that completes `reeve` in your shell.")
		.addArgument(program.createArgument("<shell>", "your shell").choices(COMPLETION_SHELLS))
		.option(...JSON_OPTION)
		.addHelpText("after", COMPLETION_HELP)
		.action(run(async () => (await import("../commands/completion.js")).runCompletion));

	program
		.command("complete-words", { hidden: true })
		.description(
			"Print the words that can follow on the command line. Used by the completion scripts.",
		)
		.argument("[words...]", "the words after `reeve`; the last one is being completed")
		.option(...JSON_OPTION)
		.action(
			run(async () => {
				const { runCompleteWords } = await import("../commands/completion.js");
				return runCompleteWords.bind(null, program);
			}),
		);
};

const COMPLETION_HELP = `
  bash  echo 'source <(reeve completion bash)' >> ~/.bashrc
  zsh   echo 'source <(reeve completion zsh)' >> ~/.zshrc      (after compinit)
  fish  reeve completion fish > ~/.config/fish/completions/reeve.fish`;
