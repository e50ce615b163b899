-- Takes jobs out of a queue, wherever they stand, and moves or drops them. Atomic per job, and one of twins only.
--
-- KEYS  1 the queue, 2 queues; then the keys that items name.
-- ARGV  now (ms), wake channel, most texts to pass by, number of jobs; of each: text, about how many stand before it or
--       "", item (moves.lua).
-- Gives answers as one text (o ok, g gone, e error) of as many of the jobs as there was time for, at least one; and what
-- was wrong, as lines.
-- include: arguments ledger moves

local queue = KEYS[1]
QUEUES = KEYS[2]
now = number()
local channel, most, count = text(), number(), number()
if wrong(queue, 'list') then return redis.error_reply(unusable(queue)) end

local answers, wrongs, passed = {}, {}, 0
for i = 1, count do
  if passed > most then break end
  local job, before, item = text(), number(), readItem()
  local key = wrongKey(item)
  if key then
    wrongs[#wrongs + 1] = unusable(key)
    answers[i] = 'e'
  else
    -- From the end that is nearer.
    local length = redis.call('LLEN', queue)
    local near = before and math.min(before, math.max(length - before, 0))
    local removed = redis.call('LREM', queue, near and near == before and -1 or 1, job)
    passed = passed + (removed == 1 and near or length)
    if removed == 0 then
      answers[i] = 'g'
    else
      local ok, err = pcall(apply, item)
      answers[i] = ok and 'o' or 'e'
      if not ok then
        redis.call('RPUSH', queue, job)
        wrongs[#wrongs + 1] = tostring(type(err) == 'table' and err.err or err)
      end
    end
  end
end
finish(channel, function(line) wrongs[#wrongs + 1] = line end)
return { table.concat(answers), table.concat(wrongs, '\n') }
