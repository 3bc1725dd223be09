-- The queues of programs, by name. `AUTOINCREMENT`, because the row's number is also the byte of the file `queues`
-- that is locked by whoever has the queue open.
CREATE TABLE queue (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE
) STRICT;

-- What a queue has still to deliver: one row for a download and a destination. The key is that of `download`, whose row
-- may not be there yet, or not any more. It goes in the transaction that records its delivery, so its number must not
-- come back. `terms` is NULL where secrets belong to the request, which are not kept: the program must say it again.
-- Of two rows the one with the higher priority runs first, then the one with the higher position.
CREATE TABLE queued (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    queue INTEGER NOT NULL REFERENCES queue (id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    url TEXT NOT NULL,
    destination TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'running', 'paused')),
    priority INTEGER NOT NULL,
    forced INTEGER NOT NULL CHECK (forced IN (0, 1)),
    position INTEGER NOT NULL,
    terms TEXT,
    UNIQUE (queue, key, destination)
) STRICT;
