-- Version 3: the tasks that the hosts of a cluster share. Daemons of earlier versions ignore them.

-- One row per task. `record` is the task, `ticket` its newest place in the queue of its agent, and `home` and `boot` the
-- daemon that runs its attempt.
CREATE TABLE reeve.tasks (
	task_id text COLLATE "C" PRIMARY KEY,
	agent text NOT NULL,
	status text NOT NULL,
	plan_id text NOT NULL,
	idempotency_key text UNIQUE,
	record text NOT NULL,
	input text,
	result text,
	host text,
	home text,
	boot text,
	ticket integer NOT NULL,
	permit jsonb,
	takeovers integer NOT NULL DEFAULT 0,
	blocked_since_ms double precision,
	cancel_reason text,
	open_letter boolean NOT NULL DEFAULT false,
	created_at_ms double precision NOT NULL,
	ended_at_ms double precision
);
CREATE INDEX tasks_of_agent ON reeve.tasks (agent, task_id);
CREATE INDEX tasks_of_plan ON reeve.tasks (plan_id);
CREATE INDEX tasks_running ON reeve.tasks (agent) WHERE boot IS NOT NULL;
CREATE INDEX tasks_of_home ON reeve.tasks (home) WHERE boot IS NOT NULL;
CREATE INDEX tasks_ended ON reeve.tasks (ended_at_ms) WHERE ended_at_ms IS NOT NULL;
CREATE INDEX tasks_letters ON reeve.tasks (agent, task_id) WHERE open_letter;

CREATE TABLE reeve.attempts (
	task_id text COLLATE "C" NOT NULL REFERENCES reeve.tasks ON DELETE CASCADE,
	n integer NOT NULL,
	record text NOT NULL,
	PRIMARY KEY (task_id, n)
);

CREATE TABLE reeve.circuits (
	agent text PRIMARY KEY,
	state jsonb NOT NULL
);

-- The events of tasks. Each belongs to the host that caused it, which copies it to its own log.
CREATE TABLE reeve.task_events (
	seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	home text NOT NULL,
	task_id text,
	at_ms double precision NOT NULL,
	event text NOT NULL
);
CREATE INDEX task_events_of_home ON reeve.task_events (home, seq);
CREATE INDEX task_events_of_task ON reeve.task_events (task_id, seq);

INSERT INTO reeve.migrations (version, compatible) VALUES (8, 1);
