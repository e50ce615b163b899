-- The adder is done, or lost.
--
-- KEYS  1 to 11 the task (ledger.lua), 12 queues, 13 adding (task and adder → kind).
-- ARGV  now (ms), adder, "" or "1" (it broke off).
-- Gives "ok", total; or the reason why not, cursor.
-- include: arguments ledger waiting closing adders

QUEUES = KEYS[12]
now = number()
local adder, broken = text(), text()
local key = wrongTask(1) or wrong(KEYS[13], 'hash') and KEYS[13]
if key then return redis.error_reply(unusable(key)) end

local book = bookOf(1)
if not book then return { 'unknown', 0 } end
local at, isGone = cursorOf(book, adder)
local kind = closeAdder(book, KEYS[13], adder)
if not at or isGone then return { 'taken-over', at or 0 } end
if kind == 'a' and broken == '1' then book.broken = withLine(book.broken, adder) end
if kind == 'a' and book.adders == '' then judge(book, true) end
closeBooks()
return { 'ok', book.total }
