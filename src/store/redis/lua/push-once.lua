-- Stores jobs, each unless it was stored a short while ago: all that are new, or none.
--
-- KEYS  1 queues; then the keys that items name, and the mark of each.
-- ARGV  now (ms), wake channel, seconds for which marks stay, number of jobs; of each: place of its mark, item (moves.lua).
-- include: arguments ledger waiting closing iteration clock marks moves

QUEUES = KEYS[1]
now = number()
local channel, seconds = text(), number()
local new, marked = {}, {}
for i = 1, number() do
  local mark, item = KEYS[number()], readItem()
  local line = wrong(mark, 'string') and unusable(mark) or obstacle(item)
  if line then return redis.error_reply(line) end
  if not marked[mark] and redis.call('EXISTS', mark) == 0 then
    marked[mark] = true
    new[#new + 1] = { mark = mark, item = item }
  end
end
for _, one in ipairs(new) do
  apply(one.item)
  redis.call('SET', one.mark, '', 'EX', seconds)
end
finish(channel)
