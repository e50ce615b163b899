-- Stores unique jobs whose locks are free, and jobs whose queue is not full. A job that was stored before is not stored again.
--
-- KEYS  1 is queues, 2 is the locks of unique jobs, 3 is limited-queues; then the keys that items name, and of each queue with a
--       limit its list and those of its priorities.
-- ARGV  begin as in moves-open.lua; then come seconds for which a push with `once` is remembered, number of lists of a queue,
--       number of jobs; of each: jid, due or "", number of locks, and of each lock its name, end or "", suspicion
--       (unique.lua); number of the key that remembers the push or 0, number of the first list of its queue or 0, its
--       queue, most jobs of that, item (moves.lua).
-- Returns of each job "" and "" or, if it was refused, the holder of its lock and when that was due; 0 and "" for a full
-- queue.
-- include: arguments ledger backlog closing iteration cancellations record unique batches slots sets moves moves-open

local locks, seconds, lists, all = KEYS[2], number(), number(), {}
refuse(wrong(locks, 'hash') or wrong(KEYS[3], 'hash'))

-- Returns the first of the lists with the wrong type.
local function wrongList(first)
  for i = first, first + lists - 1 do
    local key = wrong(KEYS[i], 'list')
    if key then return key end
  end
end

local function isFull(one)
  if one.first == 0 then return false end
  local length = tonumber(redis.call('HGET', KEYS[3], one.queue) or 0)
  for i = one.first, one.first + lists - 1 do length = length + redis.call('LLEN', KEYS[i]) end
  return length >= one.most
end

for i = 1, number() do
  local one = { jid = text(), due = text(), claims = readClaims() }
  one.once, one.first, one.queue, one.most, one.item = KEYS[number()], number(), text(), number(), readItem()
  local key = one.once and wrong(one.once, 'string') or one.first > 0 and wrongList(one.first)
  local problem = key and unusable(key) or obstacle(one.item)
  if problem then return redis.error_reply(problem) end
  all[i] = one
end

local holders = {}
for i, one in ipairs(all) do
  holders[2 * i - 1], holders[2 * i] = '', ''
  if not one.once or redis.call('EXISTS', one.once) == 0 then
    local holder, due = holderOf(locks, one.claims, now)
    if not holder and isFull(one) then
      holders[2 * i - 1] = 0
    elseif not holder then
      -- A server at its memory limit refuses this first write, and then nothing has changed.
      acquireLocks(locks, one.claims, one.jid, one.due)
      if one.once then redis.call('SET', one.once, '', 'EX', seconds) end
      apply(one.item)
    else
      holders[2 * i - 1], holders[2 * i] = holder, due
    end
  end
end
finish(channel)
return holders
