-- The numbers of limits that were set from outside, as JSON.
CREATE TABLE hk_set_limit (
  name    TEXT PRIMARY KEY,
  numbers TEXT NOT NULL
) STRICT, WITHOUT ROWID;
