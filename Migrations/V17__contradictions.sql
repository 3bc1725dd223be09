-- On how many days the same response contradicted what is stored, the last such day, and a hash of that response.
ALTER TABLE download ADD COLUMN seen TEXT;

-- The size of the closed ranges that the server sends although it refuses open ones; NULL if open ones are requested.
ALTER TABLE download ADD COLUMN closed INTEGER;
