-- What each row held when it was written: `db check --deep` compares. Kept by the writing connection's own triggers.
CREATE TABLE row_digest (
    source TEXT    NOT NULL,
    key    ANY     NOT NULL,
    digest INTEGER NOT NULL,
    PRIMARY KEY (source, key)
) STRICT, WITHOUT ROWID;

-- A neighbour is told in the order of `seq`: nothing is marked as delivered while a row before it was never tried.
CREATE TRIGGER HR5_delivery_in_order BEFORE UPDATE ON delivery
WHEN NEW.state <> 'pending' AND OLD.state = 'pending' AND EXISTS (
    SELECT 1 FROM delivery WHERE addressee = NEW.addressee AND state = 'pending' AND seq < NEW.seq AND attempts = 0 AND reason = '')
BEGIN SELECT RAISE(ABORT, 'HR5: a row before this one was not delivered yet'); END;
CREATE TRIGGER HR5_refused_waits_again BEFORE UPDATE ON delivery
WHEN OLD.state = 'refused' AND NEW.state = 'delivered'
BEGIN SELECT RAISE(ABORT, 'HR5: what was refused must wait again before it is delivered'); END;

-- The agent cannot have read what has not happened.
CREATE TRIGGER agent_cursor_in_reach BEFORE UPDATE ON agent_cursor
WHEN NEW.name = 'events' AND NEW.position > (SELECT coalesce(max(seq), 0) FROM event)
BEGIN SELECT RAISE(ABORT, 'agent-cursor: there is no such event yet'); END;
CREATE TRIGGER agent_cursor_starts_in_reach BEFORE INSERT ON agent_cursor
WHEN NEW.name = 'events' AND NEW.position > (SELECT coalesce(max(seq), 0) FROM event)
  OR EXISTS (SELECT 1 FROM agent_cursor WHERE name = NEW.name)
BEGIN SELECT RAISE(ABORT, 'agent-cursor: there is no such event yet, or the cursor is there already'); END;
