-- Rows that were in the queue and are there no longer give their places to the next.
--
-- KEYS  1 to 11 the task (ledger.lua), 12 queues.
-- ARGV  now (ms), indexes.
-- include: arguments ledger waiting closing

QUEUES = KEYS[12]
now = number()
local key = wrongTask(1)
if key then return redis.error_reply(unusable(key)) end
local book = bookOf(1)
if not book then return end
-- At its memory limit the server refuses a script whose first write may grow: this one removes nothing.
redis.call('HDEL', KEYS[1], '')
while cursor < #ARGV do
  local event = eventOf(book, number())
  if event and event.place == PLACED then
    leave(book, event)
    touch(book, event)
  end
end
closeBooks()
