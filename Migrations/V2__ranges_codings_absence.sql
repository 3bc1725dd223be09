-- What of the representation is wanted, as the value of a Range field; NULL for all of it. It belongs to the key.
ALTER TABLE download ADD COLUMN selection TEXT;

-- The content codings of the bytes that are held, as they were sent; NULL for identity.
ALTER TABLE download ADD COLUMN content_coding TEXT;

-- Since when the server says that there is no such resource (404, 410); NULL where it has not said so last.
ALTER TABLE download ADD COLUMN gone_at INTEGER;
