-- Version 7: indexes for the assignment of leases, which otherwise reads every lease for every host. Daemons of version 6
-- ignore them. Neither covers a column that renewals or heartbeats change.

CREATE INDEX leases_home ON reeve.leases (home);
CREATE INDEX hosts_offers ON reeve.hosts USING gin (offers);

INSERT INTO reeve.migrations (version, compatible) VALUES (7, 1);
