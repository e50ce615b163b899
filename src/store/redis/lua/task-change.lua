-- Changes what a task is told: what is not named stays as it is.
--
-- KEYS  1 to 11 the task (ledger.lua), 12 queues.
-- ARGV  now (ms), then fields of the header with their values.
-- Gives "ok" or "ended"; nothing when there is no such task.
-- include: arguments ledger waiting closing

QUEUES = KEYS[12]
now = number()
local key = wrongTask(1)
if key then return redis.error_reply(unusable(key)) end

local book = bookOf(1)
if not book then return false end
if book.state == 'done' or book.state == 'cancelled' then return 'ended' end
-- At its memory limit the server refuses a script whose first write may grow: this one removes nothing.
redis.call('HDEL', KEYS[1], '')
while cursor < #ARGV do
  local field, value = text(), text()
  if field == 'paused' then
    -- A pause brings its own reason, and takes it away.
    if book.state == 'open' and value ~= book.paused then
      book.paused = value
      redis.call('HSET', KEYS[1], 'reason', '')
    end
  elseif field == 'window' then
    book.window = tonumber(value)
  else
    redis.call('HSET', KEYS[1], field, value)
  end
end
closeBooks()
return 'ok'
