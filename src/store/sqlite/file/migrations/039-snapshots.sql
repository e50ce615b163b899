-- The figures of the whole store in the first moment of a minute, of ten minutes or of a day that had one.
CREATE TABLE hk_snapshot (
  span INTEGER NOT NULL CHECK (span IN (1, 10, 1440)),
  at   INTEGER NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (span, at)
) STRICT, WITHOUT ROWID;
