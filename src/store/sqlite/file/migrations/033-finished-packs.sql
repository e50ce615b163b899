-- The finished jobs of each step as one row.
CREATE TABLE finished_pack (
  id     INTEGER PRIMARY KEY,
  size   INTEGER NOT NULL,
  oldest REAL NOT NULL,
  newest REAL NOT NULL,
  scores TEXT NOT NULL,
  spans  TEXT NOT NULL,
  texts  BLOB NOT NULL
) STRICT;
