-- Sees to it that `names` has all that waits, and is kept for a while: from its first step on every script enters there what
-- comes, and steps like this one add what was there before. Then it is kept until nobody has asked for some minutes.
--
-- KEYS  see ordered-open.lua.
-- ARGV  as there; about how many ids a step looks at.
-- Gives 1; 0: there is more to do.
-- include: arguments ordered-open clock ordered-names

local refused = opened()
if refused then return refused end
local most = number()
if named and redis.call('HEXISTS', QUEUE, 'naming') == 0 then
  keepNames()
  return 1
end
if not named then
  redis.call('UNLINK', NAMES)
  redis.call('HSET', QUEUE, 'naming', '')
end
keepNames()
-- How far it has come means nothing to another server, nor to this one when it was started again.
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)') or ''
local before, cursor = string.match(redis.call('HGET', QUEUE, 'naming'), '^(%w*) (%d+)$')
local answer = redis.call('HSCAN', IDS, before == run and cursor or '0', 'COUNT', most)
local found = answer[2]
for i = 1, #found, 2000 do
  local entries = {}
  for j = i, math.min(i + 1999, #found), 2 do
    entries[#entries + 1] = 0
    entries[#entries + 1] = found[j]
  end
  redis.call('ZADD', NAMES, unpack(entries))
end
if answer[1] == '0' then
  redis.call('HDEL', QUEUE, 'naming')
  return 1
end
redis.call('HSET', QUEUE, 'naming', run .. ' ' .. answer[1])
return 0
