-- The newest pages of jobs from other stores.
CREATE TABLE stored_page (
  id       INTEGER PRIMARY KEY,
  transfer TEXT NOT NULL,
  number   INTEGER NOT NULL,
  outcome  TEXT NOT NULL CHECK (outcome IN ('stored', 'void')),
  UNIQUE (transfer, number)
) STRICT;

INSERT INTO stored_page (transfer, number, outcome) SELECT name, number, outcome FROM transfer;

DROP TABLE transfer;
