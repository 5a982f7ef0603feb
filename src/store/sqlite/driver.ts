/**
 * Selects SQLite: Node's own if available, otherwise a package with the same API. Neither is loaded
 * before a store is opened, so other commands do not pay for it.
 */

export type SqlValue = string | number | null;
export type Row = Readonly<Record<string, unknown>>;

/** The part of `StatementSync` that the store uses. */
export interface Statement {
	run(...values: SqlValue[]): unknown;
	get(...values: SqlValue[]): Row | undefined;
	all(...values: SqlValue[]): Row[];
}

/** The part of `DatabaseSync` that the store uses, and one addition. */
export interface Database {
	exec(sql: string): void;
	prepare(sql: string): Statement;
	/**
	 * Reads one value without leaving a statement open. With the package, `close` only closes a
	 * connection without open statements: otherwise it waits for garbage collection.
	 */
	readValue(query: string): unknown;
	close(): void;
}

export type DriverName = "node:sqlite" | "@photostructure/sqlite";

export interface Driver {
	readonly name: DriverName;
	open(path: string, options: { readonly readOnly: boolean }): Database;
}

interface Connection {
	exec(sql: string): void;
	prepare(sql: string): Statement;
	function(name: string, body: (value: unknown) => null): void;
	close(): void;
}

interface SqliteModule {
	readonly DatabaseSync: new (path: string, options: { readOnly: boolean }) => Connection;
}

/** Loads the named driver, or the best available one. */
export async function loadDriver(name?: DriverName): Promise<Driver> {
	const builtin = name === "@photostructure/sqlite" ? undefined : loadBuiltin();
	if (builtin !== undefined) return driverOf("node:sqlite", builtin);
	if (name === "node:sqlite") throw new Error(`Node ${process.version} has no node:sqlite`);
	return driverOf("@photostructure/sqlite", await import("@photostructure/sqlite"));
}

function driverOf(name: DriverName, { DatabaseSync }: SqliteModule): Driver {
	return { name, open: (path, { readOnly }) => databaseOf(new DatabaseSync(path, { readOnly })) };
}

function databaseOf(connection: Connection): Database {
	let value: unknown = null;
	connection.function("reeve_take_value", (given) => {
		value = given;
		return null;
	});
	return {
		exec: (sql) => connection.exec(sql),
		prepare: (sql) => connection.prepare(sql),
		readValue(query) {
			connection.exec(`SELECT reeve_take_value((${query}))`);
			return value;
		},
		close: () => connection.close(),
	};
}

/**
 * Undefined if Node has none, or hides it behind a flag. Some versions warn that the module is
 * experimental when it is loaded. That warning is of no use to users, so it is suppressed during
 * loading, which is synchronous. Other warnings are not affected.
 */
function loadBuiltin(): SqliteModule | undefined {
	const { emitWarning } = process;
	process.emitWarning = ((...args: unknown[]) => {
		if (!isExperimentalNotice(args)) Reflect.apply(emitWarning, process, args);
	}) as typeof process.emitWarning;
	try {
		return process.getBuiltinModule("node:sqlite") as SqliteModule | undefined;
	} finally {
		process.emitWarning = emitWarning;
	}
}

function isExperimentalNotice([warning, type]: readonly unknown[]): boolean {
	return type === "ExperimentalWarning" && String(warning).startsWith("SQLite ");
}
