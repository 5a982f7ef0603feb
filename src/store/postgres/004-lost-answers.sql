-- Version 4: what an operator decides about an agent whose host is lost. Daemons of version 3 ignore it.

-- `asked_epoch`: a host has notified people about the loss of this holder. `answer` is about the holder `answered_epoch`.
ALTER TABLE reeve.leases ADD COLUMN asked_epoch bigint;
ALTER TABLE reeve.leases ADD COLUMN answered_epoch bigint;
ALTER TABLE reeve.leases ADD COLUMN answer text;

INSERT INTO reeve.migrations (version, compatible) VALUES (4, 1);
