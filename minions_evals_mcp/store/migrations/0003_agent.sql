-- Messages for the agent. A message is taken once: what it sets off runs under keys made of its id, and its end is written
-- together with the reply. Messages about one topic are taken in the order of `seq`.
CREATE TABLE inbox (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT CHECK (seq > 0),
    id         TEXT    NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 128),
    type       TEXT    NOT NULL CHECK (length(type) > 0),
    topic      TEXT    NOT NULL CHECK (length(topic) > 0),
    sender     TEXT,
    payload    TEXT    NOT NULL CHECK (json_type(payload) = 'object'),
    sent_at    INTEGER NOT NULL,
    state      TEXT    NOT NULL CHECK (state IN ('pending', 'done', 'dead')),
    attempts   INTEGER NOT NULL CHECK (attempts >= 0),
    next_at    INTEGER NOT NULL,
    reason     TEXT    NOT NULL DEFAULT '',
    result     TEXT CHECK (result IS NULL OR json_type(result) = 'object'),
    settled_at INTEGER,
    CHECK ((state = 'pending') = (settled_at IS NULL)),
    CHECK (state <> 'dead' OR length(trim(reason)) > 0)
) STRICT;
CREATE INDEX inbox_pending ON inbox (topic, seq) WHERE state = 'pending';
CREATE INDEX inbox_due ON inbox (next_at) WHERE state = 'pending';
CREATE INDEX inbox_dead ON inbox (seq) WHERE state = 'dead';

CREATE TRIGGER inbox_new BEFORE INSERT ON inbox
WHEN EXISTS (SELECT 1 FROM inbox WHERE id = NEW.id OR seq = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'inbox: a message of this id is taken in already'); END;
CREATE TRIGGER inbox_fixed BEFORE UPDATE ON inbox
WHEN NEW.id IS NOT OLD.id OR NEW.seq IS NOT OLD.seq OR NEW.type IS NOT OLD.type OR NEW.topic IS NOT OLD.topic
  OR NEW.sender IS NOT OLD.sender OR NEW.payload IS NOT OLD.payload OR NEW.sent_at IS NOT OLD.sent_at
BEGIN SELECT RAISE(ABORT, 'inbox: a message never changes, only how far it is'); END;
CREATE TRIGGER inbox_done_once BEFORE UPDATE ON inbox
WHEN OLD.state = 'done'
BEGIN SELECT RAISE(ABORT, 'inbox: this message is done already'); END;
CREATE TRIGGER inbox_kept BEFORE DELETE ON inbox
BEGIN SELECT RAISE(ABORT, 'inbox: messages are kept'); END;

-- How far each row of the outbox is: made with it, delivered in the order of `seq` for each addressee.
CREATE TABLE delivery (
    seq        INTEGER PRIMARY KEY CHECK (seq > 0),
    addressee  TEXT    NOT NULL,
    state      TEXT    NOT NULL CHECK (state IN ('pending', 'delivered', 'refused')),
    attempts   INTEGER NOT NULL CHECK (attempts >= 0),
    next_at    INTEGER NOT NULL,
    reason     TEXT    NOT NULL DEFAULT '',
    settled_at INTEGER,
    CHECK ((state = 'pending') = (settled_at IS NULL)),
    CHECK (state <> 'refused' OR length(trim(reason)) > 0)
) STRICT;
CREATE INDEX delivery_pending ON delivery (addressee, seq) WHERE state = 'pending';
CREATE INDEX delivery_refused ON delivery (seq) WHERE state = 'refused';
INSERT INTO delivery (seq, addressee, state, attempts, next_at) SELECT seq, addressee, 'pending', 0, created_at FROM outbox;

CREATE TRIGGER outbox_is_delivered AFTER INSERT ON outbox
BEGIN
    INSERT INTO delivery (seq, addressee, state, attempts, next_at)
    VALUES (NEW.seq, NEW.addressee, 'pending', 0, NEW.created_at);
END;
CREATE TRIGGER delivery_new BEFORE INSERT ON delivery
WHEN EXISTS (SELECT 1 FROM delivery WHERE seq = NEW.seq)
  OR NOT EXISTS (SELECT 1 FROM outbox WHERE seq = NEW.seq AND addressee = NEW.addressee)
BEGIN SELECT RAISE(ABORT, 'delivery: one for each row of the outbox'); END;
CREATE TRIGGER delivery_fixed BEFORE UPDATE ON delivery
WHEN NEW.seq IS NOT OLD.seq OR NEW.addressee IS NOT OLD.addressee
BEGIN SELECT RAISE(ABORT, 'delivery: it belongs to its row of the outbox'); END;
CREATE TRIGGER delivery_once BEFORE UPDATE ON delivery
WHEN OLD.state = 'delivered'
BEGIN SELECT RAISE(ABORT, 'delivery: this row is delivered already'); END;
CREATE TRIGGER delivery_kept BEFORE DELETE ON delivery
BEGIN SELECT RAISE(ABORT, 'delivery: what was delivered is kept'); END;

-- One agent works on a store: whoever holds the lease, until it expires.
CREATE TABLE lease (
    name       TEXT    NOT NULL PRIMARY KEY CHECK (name = 'agent'),
    holder     TEXT    NOT NULL CHECK (length(holder) > 0),
    host       TEXT    NOT NULL,
    taken_at   INTEGER NOT NULL,
    expires_at INTEGER NOT NULL CHECK (expires_at >= taken_at)
) STRICT, WITHOUT ROWID;

-- How far the agent has read: the number of the last event, the moment up to which schedules were looked at.
CREATE TABLE agent_cursor (
    name     TEXT    NOT NULL PRIMARY KEY CHECK (name IN ('events', 'schedules')),
    position INTEGER NOT NULL CHECK (position >= 0)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER agent_cursor_forward BEFORE UPDATE ON agent_cursor
WHEN NEW.name IS NOT OLD.name OR NEW.position < OLD.position
BEGIN SELECT RAISE(ABORT, 'agent-cursor: it only goes forward'); END;
CREATE TRIGGER agent_cursor_kept BEFORE DELETE ON agent_cursor
BEGIN SELECT RAISE(ABORT, 'agent-cursor: it is kept'); END;
