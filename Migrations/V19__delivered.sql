-- The files that were delivered, by which they are recognized at their paths, whatever becomes of their jobs. `file` is
-- a text like `queued.file`, which begins with the time of the delivery; NULL if nothing was delivered yet. `next` is the
-- same for a file that is about to get the name, or that the user has named to be replaced, by a download of `url`. A
-- delivery makes a new row, so the order of IDs is that of deliveries. `seen` is when a run last found the file
-- unchanged, in milliseconds since 1970.
CREATE TABLE delivered (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    seen INTEGER NOT NULL,
    url TEXT NOT NULL,
    file TEXT,
    next TEXT
) STRICT;
