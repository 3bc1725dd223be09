-- Downloads of the command line are jobs: rows of a queue that stay when they are done, until the list that they belong
-- to is done, and then for a conditional request. `list` tells which run asked for a job last; 0 for a queue of a
-- program, whose rows are removed with their delivery.
ALTER TABLE queued ADD COLUMN list INTEGER NOT NULL DEFAULT 0;

-- How often a job was started.
ALTER TABLE queued ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;

-- 'done' or 'cancelled' for a job that is; its state is then 'failed', so that nothing takes it for one that is left.
-- The table is not made again with another CHECK: its old and new text together do not fit the first page, and a
-- damaged database is read with the help of that page.
ALTER TABLE queued ADD COLUMN ended TEXT;

-- The delivered file, in words: when it was delivered, its size and time, the hash of the request that brought it, its
-- entity tag and Last-Modified. One column, so that the schema stays on the first page.
ALTER TABLE queued ADD COLUMN file TEXT;

-- For what is left to do, and whether a list is done.
CREATE INDEX queued_left ON queued (queue, list) WHERE state <> 'failed';
