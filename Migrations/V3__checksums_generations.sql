-- The generation that a part belongs to. One of another generation than its download's is not believed: rows that do
-- not belong together (locks that do not work, a database put together from pieces) must not pair a validator with
-- bytes of another representation. From here on generations are random, so that no two writers take the same one.
ALTER TABLE chunk ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;

UPDATE chunk SET generation = (SELECT generation FROM download WHERE download.id = chunk.download);

-- The checksums of what is held: one row for the bytes that a checkpoint recorded.
CREATE TABLE block (
    download INTEGER NOT NULL REFERENCES download (id) ON DELETE CASCADE,
    first_byte INTEGER NOT NULL CHECK (first_byte >= 0),
    length INTEGER NOT NULL CHECK (length > 0),
    crc32c INTEGER NOT NULL CHECK (crc32c BETWEEN 0 AND 4294967295),
    PRIMARY KEY (download, first_byte)
) STRICT, WITHOUT ROWID;
