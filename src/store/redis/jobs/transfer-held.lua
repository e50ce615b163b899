-- Returns the page of jobs that is held for another store (transfer-page.lua).
--
-- KEYS  1 is the page, 2 is its jobs.
-- include: arguments transfer-page

expect('hash', 'list')
return heldPage(KEYS[1], KEYS[2])
