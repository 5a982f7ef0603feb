/**
 * Stdout belongs to the answers. Whatever else the program or a library prints goes to stderr, which is
 * the attempt's log. Only children that inherit file 1 can still write to it.
 */

import { Console } from "node:console";

/** Turns everything else away; returns what writes an answer and resolves when it is out. */
export function takeStdout(): (text: string) => Promise<void> {
	const { stdout, stderr } = process;
	const write = stdout.write.bind(stdout);
	Object.assign(console, new Console({ stdout: stderr, stderr }));
	stdout.write = stderr.write.bind(stderr) as typeof stdout.write;
	return (text) =>
		new Promise((resolve, reject) => {
			write(text, (error) => (error ? reject(error) : resolve()));
		});
}
