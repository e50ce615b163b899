-- Stores jobs, except those that were stored a short while ago: all new ones, or none.
--
-- KEYS  1 is queues; then the keys that items name, and the key that remembers each job.
-- ARGV  begin as in moves-open.lua; then come seconds for which a job is remembered, number of jobs; of each:
--       number of the key that remembers it, item (moves.lua).
-- include: arguments ledger backlog closing iteration cancellations record unique batches slots sets moves moves-open

local seconds = number()
local new, isNew = {}, {}
for i = 1, number() do
  local key, item = KEYS[number()], readItem()
  local problem = wrong(key, 'string') and unusable(key) or obstacle(item)
  if problem then return redis.error_reply(problem) end
  if not isNew[key] and redis.call('EXISTS', key) == 0 then
    isNew[key] = true
    new[#new + 1] = { key = key, item = item }
  end
end
for _, one in ipairs(new) do
  apply(one.item)
  redis.call('SET', one.key, '', 'EX', seconds)
end
finish(channel)
