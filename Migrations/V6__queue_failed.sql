-- A download of a queue that failed for good stays in it as 'failed', with the reason as `code: text`. `evicted` counts
-- the bytes that the collector removed of it since it last ran: once they are reported, it is 0 again. SQLite cannot
-- change a CHECK, so the table is made again.
CREATE TABLE queued_new (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    queue INTEGER NOT NULL REFERENCES queue (id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    url TEXT NOT NULL,
    destination TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'running', 'paused', 'failed')),
    priority INTEGER NOT NULL,
    forced INTEGER NOT NULL CHECK (forced IN (0, 1)),
    position INTEGER NOT NULL,
    terms TEXT,
    failure TEXT,
    evicted INTEGER NOT NULL DEFAULT 0,
    UNIQUE (queue, key, destination)
) STRICT;

-- Rows that break the table's rules were planted: they must not keep the store from being opened.
INSERT OR IGNORE INTO queued_new (id, queue, key, url, destination, state, priority, forced, position, terms)
SELECT id, queue, key, url, destination, state, priority, forced, position, terms FROM queued
WHERE queue IN (SELECT id FROM queue);

-- Numbers must not come back, also those of rows that are gone.
DELETE FROM sqlite_sequence WHERE name = 'queued_new';

INSERT INTO sqlite_sequence (name, seq) SELECT 'queued_new', seq FROM sqlite_sequence WHERE name = 'queued';

DROP TABLE queued;

ALTER TABLE queued_new RENAME TO queued;

-- For the collector, which asks of each entry whether a queue wants it.
CREATE INDEX queued_by_key ON queued (key);
