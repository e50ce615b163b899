-- Texts that all processes share, and that nobody else may guess.
CREATE TABLE secret (
  name TEXT PRIMARY KEY,
  text TEXT NOT NULL
) STRICT, WITHOUT ROWID;
