-- Version 2: the leases of agents that may run on several hosts. Daemons of version 1 ignore them.

-- The agents that the host could run.
ALTER TABLE reeve.hosts ADD COLUMN offers jsonb NOT NULL DEFAULT '[]';

-- One row per agent. `host` and `home` hold the lease if `boot` is set; otherwise they are to take it. All times are by
-- this server's clock.
CREATE TABLE reeve.leases (
	agent text PRIMARY KEY,
	epoch bigint NOT NULL DEFAULT 0,
	renewals bigint NOT NULL DEFAULT 0,
	host text,
	home text,
	boot text,
	on_lost text NOT NULL,
	lease_ms integer NOT NULL,
	expires_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	wanted boolean NOT NULL DEFAULT true,
	reason text NOT NULL DEFAULT ''
);

INSERT INTO reeve.migrations (version, compatible) VALUES (2, 1);
