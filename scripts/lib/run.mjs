/** Running a program from a script: its output kept for later, or shown as it comes. */

import { spawn } from "node:child_process";

/**
 * @typedef {object} Ran
 * @property {number} code the exit code; 1 when the program could not start or a signal ended it
 * @property {string} output standard output and standard error, as they came
 */

/**
 * Runs to the end and keeps the output.
 *
 * @param {string} program
 * @param {string[]} args
 * @param {import("node:child_process").SpawnOptions} [options]
 * @returns {Promise<Ran>}
 */
export function runQuietly(program, args, options = {}) {
	return new Promise((resolve) => {
		let output = "";
		const child = spawn(program, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
		child.stdout?.setEncoding("utf8").on("data", (text) => {
			output += text;
		});
		child.stderr?.setEncoding("utf8").on("data", (text) => {
			output += text;
		});
		child.on("error", (error) => resolve({ code: 1, output: `${output}${error.message}\n` }));
		child.on("close", (code) => resolve({ code: code ?? 1, output }));
	});
}

/**
 * Runs a program on this terminal until it exits, and returns its exit code.
 *
 * @param {string} program
 * @param {string[]} args
 * @param {import("node:child_process").SpawnOptions} [options]
 * @returns {Promise<number>}
 */
export function runShown(program, args, options = {}) {
	return new Promise((resolve) => {
		const child = spawn(program, args, { ...options, stdio: "inherit" });
		child.on("error", (error) => {
			console.error(error.message);
			resolve(1);
		});
		child.on("close", (code) => resolve(code ?? 1));
	});
}
