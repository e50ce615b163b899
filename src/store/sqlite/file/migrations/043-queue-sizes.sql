-- The sizes of queues in a minute or in ten minutes.
CREATE TABLE hk_queue_sizes (
  span INTEGER NOT NULL CHECK (span IN (1, 10)),
  at   INTEGER NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (span, at)
) STRICT;
