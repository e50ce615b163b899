-- The newest runs of each cron entry, as a JSON array.
ALTER TABLE hk_cron ADD COLUMN runs TEXT NOT NULL DEFAULT '[]';
