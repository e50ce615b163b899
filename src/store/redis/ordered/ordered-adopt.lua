-- Moves an id of Lowkiq to an ordered queue or to its morgue, unless it has changed since it was read. The state of an id that
-- the queue has already counts.
--
-- KEYS  as in ordered-open.lua. Lowkiq's keys are arguments, because the id is a part of their names.
-- ARGV  begin as there, with the shards of the id; then come id, "dead" or "", retryCount, performIn or the time of its
--       death (in seconds), error, the sorted set of its payloads, number of payloads, and of each: its member of that
--       set, its score, its text; then the sorted sets and hashes that have the id.
-- Returns 1; 0 when the payloads have changed.
-- include: arguments ordered-open ordered-notify ordered-state ordered-opened

local id, isDead, retryCount, seconds, err, source = text(), text() ~= '', number(), text(), text(), text()
refuse(wrongId(id))
refuse(wrong(source, 'zset'))
local flat, n = {}, number()
if redis.call('ZCARD', source) ~= n then return 0 end
for i = 1, n do
  local member, score = text(), text()
  if redis.call('ZSCORE', source, member) ~= score then return 0 end
  flat[2 * i - 1], flat[2 * i] = score, text()
end

if n > 0 and isDead then
  mergeDead(id, flat, seconds, 1, err)
elseif n > 0 then
  local state = newState()
  state.retryCount, state.error = retryCount, err
  mergeWaiting(id, flat, state, seconds)
  for shard in pairs(DUE) do notifyShard(shard) end
end
redis.call('UNLINK', source)
while position < #ARGV do
  local key = text()
  redis.call(redis.call('TYPE', key).ok == 'hash' and 'HDEL' or 'ZREM', key, id)
end
return 1
