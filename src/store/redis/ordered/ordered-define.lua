-- Creates an ordered queue if it does not exist.
--
-- KEYS  1 is the queue.
-- ARGV  is the number of shards of a new queue.
-- Returns its number of shards.
-- include: arguments

expect('hash')
local LONG = 'A hash with a value of more than 64 bytes is one where the server finds fields without going through all of them.'
-- A server without memory refuses each write, also one that would change nothing.
local shards = redis.call('HGET', KEYS[1], 'shards')
if shards then return shards end
shards = text()
-- Tickets are unique even when a queue of this name existed before.
redis.call('HSET', KEYS[1], 'shards', shards, 'long', LONG, 'tickets', string.format('%d', clock()))
return shards
