-- Indices after the rows are filled, since sorting them once is faster than inserting at random places. The
-- order of creation is that of `id`, and needs none.

-- For an entry named by its URL, and the order of URLs.
CREATE INDEX download_by_url ON download (url);

-- For an entry named by its destination.
CREATE INDEX download_by_destination ON download (destination);

-- For the order of received bytes, and their sum.
CREATE INDEX download_by_received ON download (received);
