-- Removes waiting ids, and cancels ids in flight for their owners.
--
-- KEYS  as in ordered-open.lua.
-- ARGV  begin as there, with all shards; then come ids.
-- Returns for each id r (removed), s (signalled) or n (not found).
-- include: arguments ordered-open ordered-notify ordered-state ordered-opened

local answers = {}
removeNothing('HDEL', CANCELLED)
for i = position + 1, #ARGV do
  local id = ARGV[i]
  local isWaiting = deleteWaiting(id)
  local ticket = redis.call('HGET', FLIGHTS, id)
  if ticket then
    redis.call('HSET', CANCELLED, id, ticket)
    notifyShard(string.match(ticket, '^%d+ (%d+) '))
  end
  answers[#answers + 1] = ticket and 's' or isWaiting and 'r' or 'n'
end
return table.concat(answers)
