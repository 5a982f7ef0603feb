-- Version 5: when operators last wanted an agent to run, or not to. Daemons of version 4 ignore it.

-- A wish that a host accepted while it could not reach the database does not replace a later one of another host.
ALTER TABLE reeve.leases ADD COLUMN wanted_at timestamptz NOT NULL DEFAULT '-infinity';

INSERT INTO reeve.migrations (version, compatible) VALUES (5, 1);
