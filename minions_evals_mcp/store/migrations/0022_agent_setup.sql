-- What the agent was last started with, so that `status` can say it where no agent runs; and why a dead letter or a refused
-- delivery needs nothing more.
CREATE TABLE agent_setup (
    name         TEXT    PRIMARY KEY CHECK (name = 'agent'),
    started_at   INTEGER NOT NULL,
    skills       TEXT    NOT NULL CHECK (json_type(skills) = 'array'),
    integrations TEXT    NOT NULL CHECK (json_type(integrations) = 'array')
) STRICT;

ALTER TABLE inbox ADD COLUMN dismissed TEXT NOT NULL DEFAULT '';
ALTER TABLE delivery ADD COLUMN dismissed TEXT NOT NULL DEFAULT '';

-- The order of one sender's messages is looked up at every look of the agent.
CREATE INDEX inbox_senders ON inbox (sender, type, seq, id) WHERE state = 'pending';
