-- Lists locks of unique jobs, and deletes those whose time is over.
--
-- KEYS  1 is the locks.
-- ARGV  are now (ms), the cursor, and about how many locks are wanted.
-- Returns the next cursor; of each lock its name, holder, end and suspicion.
-- include: arguments unique

local time, cursor, count = number(), text(), text()
expect('hash')
local page = redis.call('HSCAN', KEYS[1], cursor, 'COUNT', count)
local listed = { page[1] }
for i = 1, #page[2], 2 do
  local holder, ends, suspicion = heldLock(page[2][i + 1], time)
  if holder then
    for _, part in ipairs({ page[2][i], holder, ends, suspicion }) do listed[#listed + 1] = part end
  else
    redis.call('HDEL', KEYS[1], page[2][i])
  end
end
return listed
