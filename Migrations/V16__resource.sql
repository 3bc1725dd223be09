-- What the bytes came from: a keyed hash of the request and the final URL, what the connections prove about the sender, and
-- the final address. NULL for bytes of an earlier release.
ALTER TABLE download ADD COLUMN resource TEXT;
-- The digest that alone proves the bytes of this part, as in a Repr-Digest field; NULL if they need none.
ALTER TABLE chunk ADD COLUMN mark TEXT;
