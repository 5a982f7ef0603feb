-- Version 1 of the tables of a cluster. The daemon runs this in a transaction if it may create tables;
-- otherwise the owner of the database runs it once: psql -1 -v ON_ERROR_STOP=1 -f 001-hosts.sql

CREATE SCHEMA IF NOT EXISTS reeve;

-- The versions of the tables. A daemon whose own version is below `compatible` must not use them.
CREATE TABLE reeve.migrations (
	version integer PRIMARY KEY,
	compatible integer NOT NULL,
	at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- One row per host. `boot` is the daemon that owns the row; all times are by this server's clock.
CREATE TABLE reeve.hosts (
	host text PRIMARY KEY,
	home text NOT NULL,
	boot text NOT NULL,
	version text NOT NULL,
	labels jsonb NOT NULL,
	advertise text,
	adapters jsonb NOT NULL,
	cpus integer NOT NULL,
	load double precision NOT NULL,
	memory_total_bytes bigint NOT NULL,
	memory_free_bytes bigint NOT NULL,
	agents integer NOT NULL,
	draining boolean NOT NULL DEFAULT false,
	joined_at timestamptz NOT NULL DEFAULT clock_timestamp(),
	seen_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

INSERT INTO reeve.migrations (version, compatible) VALUES (1, 1);
