/** Commands for the daemons of other hosts. */

import { type AddCommands, JSON_OPTION } from "./group.js";

export const addRemoteCommands: AddCommands = (program, run) => {
	const remote = program
		.command("remote")
		.description("Add, list and remove other hosts whose agents are shown with those of this one.");

	remote
		.command("add")
		.description(
			"Add the daemon of another host. Its agents are then written as `NAME/project:agent`.",
		)
		.argument("<name>", "the prefix of its agents, such as `box`")
		.option(
			"--ssh <target>",
			"reach it through ssh: `user@host`, or a host of your ssh configuration",
		)
		.option("--command <command>", "how to run Reeve there, to find its socket", "reeve")
		.option("--socket <path>", "the daemon's socket there (default: found with --command)")
		.option("--url <url>", "reach it over the network: `https://HOST:PORT`")
		.option("--token-file <file>", "with --url: a file with an API token of that daemon")
		.option("--ca <file>", "with --url: a file with additional trusted certificates")
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/remote.js")).runRemoteAdd));

	remote
		.command("ls")
		.alias("list")
		.description("List the remotes, and whether they answer.")
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/remote.js")).runRemoteList));

	remote
		.command("connect")
		.description("Reconnect to a remote immediately, with the ssh agent of this shell.")
		.argument("<name>", "the name of the remote")
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/remote.js")).runRemoteConnect));

	remote
		.command("rm")
		.alias("remove")
		.description("Remove a remote. Its daemon and its agents are not affected.")
		.argument("<name>", "the name of the remote")
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/remote.js")).runRemoteRemove));
};
