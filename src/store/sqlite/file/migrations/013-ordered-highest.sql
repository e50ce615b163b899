-- The highest token or take number of the ordered queues that were deleted: a new queue begins above it, also after the
-- clock was set back.
CREATE TABLE ordered_highest (number INTEGER NOT NULL) STRICT;
INSERT INTO ordered_highest VALUES (0);
