-- The received bytes of all parts of a download, so that lists and the collector need no join. It is changed in the
-- transactions that change the parts, and `store.received` is its sum. Rows of an older release are filled in batches
-- before the next migration.
ALTER TABLE download ADD COLUMN received INTEGER NOT NULL DEFAULT 0;
