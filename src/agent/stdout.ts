/**
 * Stdout is reserved for responses. Other output of the program or of libraries goes to stderr, which
 * is the attempt's log. Only child processes that inherit file descriptor 1 can still write to it.
 */

import { Console } from "node:console";

/**
 * Redirects all other output; returns a function that writes a response and resolves when it is
 * flushed.
 */
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
