-- Deletes the keys of a task, but not its entry among the tasks of its queue.
--
-- KEYS  1 to 11 are the keys of the task (ledger.lua), 12 is the producers (task and producer → kind), 13 is the
--       parts of its files, 14 is the header of a sealed task (task-put.lua); then come the tasks of each of its labels
--       (sorted sets).
-- ARGV  is "task", or "rest" for a task that has no header any more.
-- Returns 0, and deletes nothing, when the task is sealed, or not complete yet, or has a header and only the rest is meant.
-- include: arguments ledger

refuse(wrongTask(1) or wrong(KEYS[12], 'hash') or wrong(KEYS[13], 'hash'))
for i = 15, #KEYS do refuse(wrong(KEYS[i], 'zset')) end
local ledger = ledgerOf(1)
if ledger and text() == 'rest' or not ledger and redis.call('EXISTS', KEYS[14]) == 1 then return 0 end
if ledger then
  local fields = redis.call('HKEYS', KEYS[1])
  redis.call('DEL', KEYS[1])
  for _, field in ipairs(fields) do
    local producer = string.match(field, '^cursor:(.*)$')
    if producer then redis.call('HDEL', KEYS[12], ledger.id .. ' ' .. producer) end
  end
  -- Maintenance deletes the rest if this process dies.
  redis.call('ZADD', KEYS[9], -1, ledger.id)
  if ledger.backlog ~= 0 then redis.call('INCRBY', KEYS[8], -ledger.backlog) end
end
redis.call('UNLINK', unpack(KEYS, 2, 6))
redis.call('UNLINK', KEYS[13])
for i = 15, #KEYS do redis.call('ZREM', KEYS[i], ledger and ledger.id or '') end
