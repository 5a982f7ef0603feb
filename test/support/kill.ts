/** `kill -9` of exactly one process. Pid 0 would be the whole group of the test itself. */
export function killProcess(pid: number | null | undefined): void {
	if (!pid || pid <= 1) throw new Error(`no process to kill: ${pid}`);
	process.kill(pid, "SIGKILL");
}
