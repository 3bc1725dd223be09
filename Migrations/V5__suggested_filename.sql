-- What the server called the file (Content-Disposition), made harmless; NULL where it did not say.
ALTER TABLE download ADD COLUMN suggested_filename TEXT;
