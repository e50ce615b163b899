-- held: returns the page that is held.
SELECT transfer, number, target, jobs FROM hk_transfer_page WHERE jobs IS NOT NULL;

-- hold: holds the next page, and returns its number.
INSERT INTO hk_transfer_page (id, transfer, number, target, jobs) VALUES (1, ?1, 1, ?2, ?3)
ON CONFLICT DO UPDATE SET number = number + 1, transfer = ?1, target = ?2, jobs = ?3
RETURNING number;

-- endPage: ends a page. No row changes: it is not held.
UPDATE hk_transfer_page SET jobs = NULL WHERE transfer = ? AND number = ? AND jobs IS NOT NULL;

-- near: returns jobs of a queue that are fetched next, from an offset on.
SELECT position, text FROM hk_ready WHERE queue = ? ORDER BY position LIMIT ? OFFSET ?;

-- outcome: returns what became of a page.
SELECT outcome FROM hk_stored_page WHERE transfer = ? AND number = ?;

-- remember: stores what became of a page.
INSERT INTO hk_stored_page (transfer, number, outcome) VALUES (?, ?, ?);

-- prune: deletes the pages (?3 is 0) or the tasks (1) of a source, but not the newest ?4. Their names are between ?1 and ?2.
DELETE FROM hk_stored_page WHERE id IN (
  SELECT id FROM hk_stored_page WHERE transfer > ?1 AND transfer < ?2 AND (number = 0) = ?3 ORDER BY id DESC LIMIT -1 OFFSET ?4
);
