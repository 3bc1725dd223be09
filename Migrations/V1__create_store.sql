-- Offsets and lengths are bytes, 64 bits wide; times are milliseconds since 1970-01-01T00:00:00Z.

-- One row a download. `AUTOINCREMENT`, because the row's number is also the byte of the lease file
-- that its lock covers: a number that came back would let a waiter of a dead entry hold a new one's lock.
CREATE TABLE download (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    url TEXT NOT NULL,
    final_url TEXT,
    etag TEXT,
    last_modified TEXT,
    response_date TEXT,
    complete_length INTEGER CHECK (complete_length >= 0),
    content_type TEXT,
    repr_digest TEXT,
    accepts_ranges INTEGER NOT NULL DEFAULT 1 CHECK (accepts_ranges IN (0, 1)),
    generation INTEGER NOT NULL DEFAULT 0,
    state TEXT NOT NULL DEFAULT 'partial' CHECK (state IN ('partial', 'complete')),
    destination TEXT,
    pinned INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1)),
    created_at INTEGER NOT NULL,
    used_at INTEGER NOT NULL,
    boot_id TEXT NOT NULL
) STRICT;

CREATE INDEX download_by_use ON download (used_at);

-- One row a stream of a download. `received` survives the process, `durable` survives a power loss:
-- both count bytes from `first_byte`, which lie in `path` at their own offsets.
CREATE TABLE chunk (
    download INTEGER NOT NULL REFERENCES download (id) ON DELETE CASCADE,
    first_byte INTEGER NOT NULL CHECK (first_byte >= 0),
    planned_end INTEGER CHECK (planned_end >= first_byte),
    path TEXT NOT NULL,
    received INTEGER NOT NULL DEFAULT 0 CHECK (received >= 0),
    durable INTEGER NOT NULL DEFAULT 0 CHECK (durable >= 0 AND durable <= received),
    PRIMARY KEY (download, first_byte)
) STRICT, WITHOUT ROWID;

CREATE INDEX chunk_by_path ON chunk (path);

-- The last decisions, bounded; kept when their download is gone.
CREATE TABLE event (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    reason TEXT NOT NULL,
    bytes INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX event_by_key ON event (key, id);

-- One row of totals, changed in the transactions that change the rows it sums.
CREATE TABLE store (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    entries INTEGER NOT NULL,
    received INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

INSERT INTO store (id, entries, received, created_at)
VALUES (1, 0, 0, CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER));
