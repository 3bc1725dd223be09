-- The log keeps too few events for an index.
DROP INDEX event_by_key;
