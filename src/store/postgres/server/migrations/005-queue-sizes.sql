-- The sizes of queues in a minute or in ten minutes.
CREATE TABLE hk.queue_sizes (
  span bigint NOT NULL CHECK (span IN (1, 10)),
  at   bigint NOT NULL,
  text text COLLATE "C" NOT NULL,
  PRIMARY KEY (span, at)
);
