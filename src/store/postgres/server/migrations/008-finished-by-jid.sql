-- Outside of a transaction. Finds finished jobs by their jids.
DROP INDEX CONCURRENTLY IF EXISTS hk.entry_by_jid;
CREATE INDEX CONCURRENTLY entry_by_jid ON hk.entry ((
  CASE WHEN split_part(text, '"jid"', 3) <> '' THEN ''
    ELSE left(split_part(ltrim(split_part(text, '"jid"', 2), E': \t\n\r'), '"', 2), 100) END
)) WHERE set_id = -1;
