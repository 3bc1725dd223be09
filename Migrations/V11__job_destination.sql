-- For the jobs of a list with the same file, and a job that is named by its file.
CREATE INDEX queued_by_destination ON queued (destination, list);
