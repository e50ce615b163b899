-- Removes all that a task has in the slot of its queue, but for its place among the tasks.
--
-- KEYS  1 to 11 the task (ledger.lua), 12 adding (task and adder → kind), 13 its parts.
-- include: arguments ledger

local key = wrongTask(1) or wrong(KEYS[12], 'hash') and KEYS[12] or wrong(KEYS[13], 'hash') and KEYS[13]
if key then return redis.error_reply(unusable(key)) end
local book = bookOf(1)
if book then
  local fields = redis.call('HKEYS', KEYS[1])
  redis.call('DEL', KEYS[1])
  for _, field in ipairs(fields) do
    local adder = string.match(field, '^cursor:(.*)$')
    if adder then redis.call('HDEL', KEYS[12], book.id .. ' ' .. adder) end
  end
  -- Whoever looks for what is over goes on, should nobody else.
  redis.call('ZADD', KEYS[9], -1, book.id)
  if book.held ~= 0 then redis.call('INCRBY', KEYS[8], -book.held) end
end
redis.call('UNLINK', unpack(KEYS, 2, 6))
redis.call('UNLINK', KEYS[13])
