-- read: returns the runs of an entry, as a JSON array.
SELECT runs FROM hk_cron WHERE name = ?;

-- write: stores the runs of an entry.
UPDATE hk_cron SET runs = ? WHERE name = ?;

-- some: returns a row if there is any cron entry.
SELECT 1 FROM hk_cron LIMIT 1;
