-- How many samples of the bytes that another program has received agreed with the server's file; 0 before samples were
-- compared, NULL for bytes that this program has received. Then only a digest proves the file.
ALTER TABLE download ADD COLUMN adopted INTEGER;
