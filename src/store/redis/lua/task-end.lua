-- The adder is done.
--
-- KEYS  1 to 7 the task (ledger.lua), 8 queues, 9 adding (task → its submitter).
-- ARGV  now (ms), adder, state that follows (running | interrupted).
-- Gives "ok", total; or the reason why not, cursor.
-- include: arguments ledger

QUEUES = KEYS[8]
now = number()
local adder, state = text(), text()
local key = wrongTask(1) or (wrong(QUEUES, 'set') and QUEUES) or (wrong(KEYS[9], 'hash') and KEYS[9])
if key then return redis.error_reply(unusable(key)) end

local book = bookOf(1)
if not book then return { 'unknown', 0 } end
if redis.call('HGET', KEYS[1], 'adder') ~= adder then
  return { 'taken-over', tonumber(redis.call('HGET', KEYS[1], 'cursor:' .. adder) or 0) }
end
redis.call('HDEL', KEYS[9], book.id)
if book.state == 'adding' then book.state = state end
closeBooks()
return { 'ok', book.total }
