-- Indexes waiting ids by name, in steps. From the first step on every script adds new ids to the index; steps like
-- this one add the ids that were there before. The index is kept until nobody has asked for it for some minutes.
--
-- KEYS  as in ordered-open.lua.
-- ARGV  begin as there; then comes about how many ids a step reads.
-- Returns 1; 0 when there is more to do.
-- include: arguments ordered-open ordered-names ordered-opened

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
-- A cursor is valid only on this server, and only until it is restarted.
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
