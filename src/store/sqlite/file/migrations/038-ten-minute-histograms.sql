-- Histograms of ten minutes beside those of minutes.
ALTER TABLE hk_histogram RENAME TO hk_minute_histogram;
CREATE TABLE hk_histogram (
  span   INTEGER NOT NULL CHECK (span IN (1, 10)),
  at     INTEGER NOT NULL,
  name   TEXT NOT NULL,
  bucket INTEGER NOT NULL,
  count  INTEGER NOT NULL,
  PRIMARY KEY (span, at, name, bucket)
) STRICT, WITHOUT ROWID;
INSERT INTO hk_histogram (span, at, name, bucket, count)
SELECT 1, at, name, bucket, count FROM hk_minute_histogram;
DROP TABLE hk_minute_histogram;
