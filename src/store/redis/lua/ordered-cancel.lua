-- Takes what waits of ids away, and marks what is in flight of them for its owner.
--
-- KEYS  see ordered-open.lua.
-- ARGV  as there, all shards; ids.
-- Gives of each: r(emoved), s(ignalled), n(ot found).
-- include: arguments ordered-open ordered-bell ordered-book

local refused = opened()
if refused then return refused end
local answers = {}
redis.call('HDEL', CANCELLED, '')
for i = cursor + 1, #ARGV do
  local id = ARGV[i]
  local isWaiting = drop(id)
  local ticket = redis.call('HGET', FLIGHTS, id)
  if ticket then
    redis.call('HSET', CANCELLED, id, ticket)
    ringShard(string.match(ticket, '^%d+ (%d+) '))
  end
  answers[#answers + 1] = ticket and 's' or isWaiting and 'r' or 'n'
end
return table.concat(answers)
