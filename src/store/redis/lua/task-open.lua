-- One more adder, or one in the place of another.
--
-- KEYS  1 to 11 the task (ledger.lua), 12 queues, 13 adding (task and adder → kind).
-- ARGV  now (ms), adder, the one whose place it takes or "".
-- Gives "ok", total; or the reason why not, cursor.
-- include: arguments ledger waiting closing adders

QUEUES = KEYS[12]
now = number()
local adder, instead = text(), text()
local key = wrongTask(1) or wrong(KEYS[13], 'hash') and KEYS[13]
if key then return redis.error_reply(unusable(key)) end

local book = bookOf(1)
if not book then return { 'unknown', 0 } end
local at, isGone = cursorOf(book, adder)
if adderLine(book, adder) then return { 'ok', book.total } end
if at then return { isGone and 'taken-over' or 'ended', at } end
if book.state ~= 'open' then return { 'ended', 0 } end
local cursor = 0
if instead ~= '' then
  cursor, isGone = cursorOf(book, instead)
  if not cursor or isGone then return { 'taken-over', cursor or 0 } end
end

-- The first write may grow: at its memory limit the server refuses it, and nothing was done.
redis.call('HSET', KEYS[1], 'cursor:' .. adder, cursor)
if instead ~= '' then
  closeAdder(book, KEYS[13], instead)
  redis.call('HSET', KEYS[1], 'cursor:' .. instead, 'x' .. cursor)
  if redis.call('HGET', KEYS[1], 'adder') == instead then redis.call('HSET', KEYS[1], 'adder', adder) end
  local others = withoutLine(book.broken, instead)
  if others ~= book.broken and book.paused == '' then redis.call('HSET', KEYS[1], 'reason', '') end
  book.broken = others
end
openAdder(book, KEYS[13], 'a', adder)
closeBooks()
return { 'ok', book.total }
