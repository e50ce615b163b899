-- read: returns the runs of an entry, as a JSON array.
SELECT runs FROM hk.cron WHERE name = $1;

-- write: stores the runs of an entry.
UPDATE hk.cron SET runs = $1 WHERE name = $2;
