/** Commands for the hosts of a cluster. */

import { type AddCommands, JSON_OPTION } from "./group.js";

const HOST_ARGUMENT = ["<host>", "the name of the host in the cluster"] as const;

export const addHostCommands: AddCommands = (program, run) => {
	const host = program
		.command("host")
		.description("List, drain and remove the hosts that share a cluster with this one.");

	host
		.command("ls")
		.alias("list")
		.description("List the hosts of the cluster, and which of them are alive.")
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/host.js")).runHostList));

	host
		.command("show")
		.description("Show what a host last reported.")
		.argument(...HOST_ARGUMENT)
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/host.js")).runHostShow));

	host
		.command("drain")
		.description("Mark a host as draining. Agents that run there are not affected.")
		.argument(...HOST_ARGUMENT)
		.option(
			"--until-restart",
			"the daemon of the host is about to restart: other hosts also get its agents with `on_lost: replace`, and the next daemon is not draining; for this host, waits until they are gone",
		)
		.option("--timeout <duration>", "with --until-restart: how long to wait (default: 60s)")
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/host.js")).runHostDrain));

	host
		.command("resume")
		.description("End the draining of a host.")
		.argument(...HOST_ARGUMENT)
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/host.js")).runHostResume));

	host
		.command("remove")
		.alias("rm")
		.description("Remove a silent host from the cluster.")
		.argument(...HOST_ARGUMENT)
		.option(...JSON_OPTION)
		.action(run(async () => (await import("../commands/host.js")).runHostRemove));
};
