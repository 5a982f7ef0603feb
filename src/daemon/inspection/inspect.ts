/** Runs the inspection for `reeve doctor` as a short-lived program. Changes nothing. */

import { connect } from "node:net";
import type { DatabaseFinding, Inspection } from "../../client/inspection.js";
import { resolveHome } from "../../home/paths.js";
import { describeLimits } from "../../host/cgroup.js";
import { type DatabaseInspection, inspectDatabase } from "../../store/sqlite/inspect-database.js";
import { renderLimits } from "../status.js";
import { listProcesses } from "./holders.js";
import { findStrays } from "./strays.js";

const home = resolveHome(process.env);
process.stdout.write(JSON.stringify(await inspect()));

async function inspect(): Promise<Inspection> {
	const seen = listProcesses(home);
	const runIds = [...new Set(seen.processes.flatMap(({ runId }) => runId ?? []))];
	const database = await inspectDatabase(home.database, runIds);
	const strays = findStrays({
		...seen,
		runs: "runs" in database ? database.runs : [],
		hasDaemon: await hasDaemon(),
	});
	return { database: renderDatabase(database), limits: renderLimits(describeLimits()), strays };
}

function renderDatabase(look: DatabaseInspection): DatabaseFinding {
	return look.state === "sound" || look.state === "unread"
		? { state: look.state, bytes: look.bytes }
		: look;
}

function hasDaemon(): Promise<boolean> {
	return new Promise((resolve) => {
		const socket = connect(home.socket);
		const end = (answer: boolean) => {
			socket.destroy();
			resolve(answer);
		};
		socket.once("connect", () => end(true)).once("error", () => end(false));
	});
}
