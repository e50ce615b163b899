-- Creates an ordered queue if it does not exist.
--
-- KEYS  1 is the queue.
-- ARGV  is the number of shards of a new queue.
-- Returns its number of shards.
-- include: arguments

expect('hash')
local LONG = 'A hash with a value of more than 64 bytes is one where the server finds fields without going through all of them.'
if redis.call('HSETNX', KEYS[1], 'shards', text()) == 1 then
  redis.call('HSET', KEYS[1], 'long', LONG)
  -- Tickets are unique even when a queue of this name existed before.
  redis.call('HSET', KEYS[1], 'tickets', string.format('%d', clock()))
end
return redis.call('HGET', KEYS[1], 'shards')
