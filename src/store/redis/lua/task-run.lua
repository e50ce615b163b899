-- Begins the next run of a task.
--
-- KEYS  1 to 11 the task (ledger.lua), 12 queues, 13 adding (task and adder → kind).
-- ARGV  now (ms), the run that it is in, adder.
-- Gives "ok", "gone" or "cancelling"; nothing when there is no such task.
-- include: arguments ledger waiting closing adders

QUEUES = KEYS[12]
now = number()
local run, adder = number(), text()
local key = wrongTask(1) or wrong(KEYS[13], 'hash') and KEYS[13]
if key then return redis.error_reply(unusable(key)) end

local book = bookOf(1)
if not book then return false end
if book.run == run + 1 and adderLine(book, adder) then return 'ok' end
if book.run ~= run then return 'gone' end
if book.state == 'cancelling' then return 'cancelling' end

-- The first write may grow: at its memory limit the server refuses it, and nothing was done.
redis.call('HSET', KEYS[1], 'cursor:' .. adder, 0)
-- A reason to be cancelled is none any more; one to be paused or interrupted still is.
if book.paused == '' and book.broken == '' then redis.call('HSET', KEYS[1], 'reason', '') end
local n = book.n
redis.call('HSET', KEYS[1], 'runAt', now, 'before', n[2] + n[3] + n[4] + n[5])
book.run, book.state, book.ended = run + 1, 'open', ''
openAdder(book, KEYS[13], 'r', adder)
closeBooks()
return 'ok'
