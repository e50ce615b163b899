-- Moves the keys of a queue from their names of version 0.1: producers and backlog of its tasks, and the fetched ids of
-- an ordered queue. Does nothing to keys that were moved before.
--
-- A list is left under the old name of the backlog. Every script of version 0.1 that changes a task of this queue finds a
-- key of the wrong type there, also in a process that knew the task before.
--
-- KEYS  1 and 2 are old and new producers, 3 and 4 old and new backlog, 5 is the ordered queue; 6 and 7 are the
--       beginnings of old and new keys of fetched ids.
-- ARGV  are the text of the list, and seconds for which it stays.
-- include: arguments

local note, seconds = text(), text()
local kinds = { 'hash', 'hash', false, 'string', 'hash' }
for i, kind in ipairs(kinds) do
  if kind then refuse(wrong(KEYS[i], kind)) end
end
refuse(wrong(KEYS[3], 'string') and wrong(KEYS[3], 'list'))

removeNothing('HDEL', KEYS[2])
if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('RENAME', KEYS[1], KEYS[2]) end
if redis.call('TYPE', KEYS[3]).ok == 'string' then redis.call('RENAME', KEYS[3], KEYS[4]) end
if redis.call('EXISTS', KEYS[3]) == 0 then
  redis.call('RPUSH', KEYS[3], note)
  redis.call('EXPIRE', KEYS[3], seconds)
end
local counts = redis.call('HMGET', KEYS[5], 'shards', 'from')
for shard = 0, math.max(tonumber(counts[1] or 0), tonumber(counts[2] or 0)) - 1 do
  if redis.call('EXISTS', KEYS[6] .. shard) == 1 then redis.call('RENAME', KEYS[6] .. shard, KEYS[7] .. shard) end
end
