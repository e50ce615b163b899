-- Drops the parts of a task from another store that is not complete, so that it is never stored.
--
-- KEYS  1 to 11 are the keys of the task (ledger.lua), 12 is the header of an incomplete task, 13 is its deadlines, 14 is its
--       rows that came back, 15 is the parts of its files, 16 is the pages.
-- ARGV  are transfer, most pages to remember.
-- Returns "stored" or "void", and whether there were parts.
-- include: arguments ledger transfer-outcome

local header, pages = KEYS[12], KEYS[16]
refuse(wrongTask(1) or wrong(header, 'hash') or wrong(KEYS[13], 'zset') or wrong(KEYS[14], 'list') or wrong(KEYS[15], 'hash'))
refuse(wrong(pages, 'zset'))
local transfer, kept = text(), number()
local known = outcomeOf(pages, transfer .. ':0')
if known then return { known, 0 } end
rememberOutcome(pages, transfer .. ':0', 'void', kept)
local stored = redis.call('HMGET', header, 'transfer', 'cursor')
if stored[1] ~= transfer or not stored[2] then return { 'void', 0 } end
redis.call('UNLINK', header, KEYS[13], KEYS[14], KEYS[15], unpack(KEYS, 2, 6))
return { 'void', 1 }
