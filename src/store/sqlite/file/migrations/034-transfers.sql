-- Transfers of jobs between stores.
CREATE TABLE transfer_page (
  id       INTEGER PRIMARY KEY CHECK (id = 1),
  transfer TEXT NOT NULL,
  number   INTEGER NOT NULL,
  target   TEXT NOT NULL,
  jobs     TEXT
) STRICT;

CREATE TABLE transfer (
  name    TEXT PRIMARY KEY,
  number  INTEGER NOT NULL,
  outcome TEXT NOT NULL CHECK (outcome IN ('stored', 'void'))
) STRICT, WITHOUT ROWID;
