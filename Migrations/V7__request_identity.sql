-- The key of the hashes below (HMAC-SHA-256), random for each store: without it no guess at a secret can be confirmed.
ALTER TABLE store ADD COLUMN identity_key BLOB;
UPDATE store SET identity_key = randomblob(32);

-- Whose bytes are held: the hash of the request that brought them, or that the server confirmed them to last: its URL
-- with user info and query, and the caller's own fields. NULL where that is not known, which is the same as nobody's.
ALTER TABLE download ADD COLUMN requester BLOB;

-- The request fields that the representation depends on (Vary), and the hash of their values in that request.
ALTER TABLE download ADD COLUMN vary TEXT;
ALTER TABLE download ADD COLUMN varied BLOB;

-- Which one of the representations of one download this is: a caller who is sent another one than is held for somebody
-- else has an entry of its own, whose key says so.
ALTER TABLE download ADD COLUMN variant INTEGER NOT NULL DEFAULT 1 CHECK (variant BETWEEN 1 AND 4);

-- The digest that a caller asked for and the bytes do not have, as in a Repr-Digest field; NULL where none was wrong.
ALTER TABLE download ADD COLUMN refused_digest TEXT;
