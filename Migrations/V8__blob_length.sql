-- Whether the blob's own length counts: one stream has written all of it from its first byte on, in order, under boot_id.
-- After the death of the process, the bytes behind the last commit are then part of the download as well. Never again
-- true for a blob of which bytes were given up, that has several parts, or that outlived a start of the machine.
ALTER TABLE download ADD COLUMN grows INTEGER NOT NULL DEFAULT 0 CHECK (grows IN (0, 1));
