-- Enters an ordered queue if it is not there yet. Gives how many shards it has.
--
-- KEYS  1 the queue.
-- ARGV  how many shards it is to have.
-- include: arguments clock

if wrong(KEYS[1], 'hash') then return redis.error_reply(unusable(KEYS[1])) end
local LONG = 'A hash with a value of more than 64 bytes is one where the server finds fields without going through all of them.'
if redis.call('HSETNX', KEYS[1], 'shards', text()) == 1 then
  redis.call('HSET', KEYS[1], 'long', LONG)
  -- Also when a queue of that name was there before, no ticket is ever used twice.
  redis.call('HSET', KEYS[1], 'tickets', string.format('%d', clock()))
end
return redis.call('HGET', KEYS[1], 'shards')
