-- Makes a task without rows, in state `adding`. Gives 1; 0 when the id is taken.
--
-- KEYS  1 header, 2 adding (task → its submitter).
-- ARGV  adder, id, then fields and values of the header.
-- include: arguments

local header, adding = KEYS[1], KEYS[2]
for i, kind in ipairs({ 'hash', 'hash' }) do
  if wrong(KEYS[i], kind) then return redis.error_reply(unusable(KEYS[i])) end
end
local adder, id = text(), text()
if redis.call('EXISTS', header) == 1 then return 0 end
redis.call('HSET', header, 'id', id, 'adder', adder, 'state', 'adding', 'run', 1, 'total', 0, 'next', 0, 'held', 0,
  'placed', 0, 'enqueued', 0, 'working', 0, 'finished', 0, 'failed', 0, 'error', 0, 'cancelled', 0,
  unpack(ARGV, cursor + 1))
redis.call('HSET', adding, id, adder)
return 1
