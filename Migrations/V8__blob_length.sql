-- The generation in which the blob's own length counts; any other number if it does not. It counts while one stream writes
-- the blob from its first byte on, in order, under boot_id: after the death of the process, the bytes behind the last
-- commit are then part of the download as well. Whatever gives up bytes of the blob begins another generation.
ALTER TABLE download ADD COLUMN grows INTEGER NOT NULL DEFAULT 0;
