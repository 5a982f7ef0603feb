-- Version 3: the usage limits of accounts that several hosts use. Daemons of version 2 ignore them.

-- One row per account that has ever hit a limit, written by the host whose agent hit it, checks it, or found it lifted.
-- All times are by this server's clock.
CREATE TABLE reeve.account_limits (
	account text PRIMARY KEY,
	version bigint NOT NULL,
	host text NOT NULL,
	home text NOT NULL,
	phase text NOT NULL,
	since timestamptz NOT NULL,
	first_at timestamptz NOT NULL,
	until timestamptz,
	hits integer NOT NULL,
	end_known boolean NOT NULL,
	reason text NOT NULL,
	probe text,
	settings jsonb NOT NULL
);

INSERT INTO reeve.migrations (version, compatible) VALUES (3, 1);
