-- Versions of links to tasks and to lists of tasks, which end all links with an earlier version.
ALTER TABLE hk_task ADD COLUMN link_version INTEGER NOT NULL DEFAULT 0;

CREATE TABLE hk_link_version (
  list    TEXT PRIMARY KEY,
  version INTEGER NOT NULL CHECK (version > 0)
) STRICT, WITHOUT ROWID;
