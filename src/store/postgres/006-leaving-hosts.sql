-- Version 6: hosts that are about to restart. Daemons of version 5 ignore it.

-- The daemon that gives its agents to other hosts; a later daemon of the host does not.
ALTER TABLE reeve.hosts ADD COLUMN leaving text;

INSERT INTO reeve.migrations (version, compatible) VALUES (6, 1);
