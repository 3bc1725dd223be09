-- Indices after the rows are filled, since sorting them once is faster than inserting at random places. Their names are
-- short because the whole schema must fit the first page. The order of creation is that of `id`, and needs none.

-- For an entry named by its URL, and the order of URLs.
CREATE INDEX u ON download(url);

-- For an entry named by its destination.
CREATE INDEX d ON download(destination);

-- For the order of received bytes, and their sum.
CREATE INDEX r ON download(received);
