-- For the order of sizes. An unknown size is -1, so that a position in the order is a number. Unlike the received bytes,
-- a size rarely changes, so checkpoints do not touch the index.
ALTER TABLE download ADD COLUMN size INTEGER GENERATED ALWAYS AS (ifnull(complete_length, -1)) VIRTUAL;
CREATE INDEX download_by_size ON download (size);
