-- Creates tasks of one row each, and stores its job: all of them or none. A task that exists stays unchanged.
--
-- KEYS  1 is queues, 2 is the names of the queues that have tasks; then the keys that items name, and those of each
--       task (ledger.lua).
-- ARGV  begin as in moves-open.lua; then come number of jobs; of each: base of its task, its queue, its id,
--       createdAt, when it is due (ms), arguments, "1" if the job goes to a queue or "0", number of fields of the
--       header, fields and values; item (moves.lua).
-- include: arguments ledger backlog closing iteration cancellations record unique batches slots sets moves moves-open

local singles = {}
refuse(wrong(KEYS[2], 'set'))
for i = 1, number() do
  local one = {
    base = number(), queue = text(), id = text(), created = text(), due = text(), args = text(), queued = number(),
    fields = {},
  }
  for j = 1, 2 * number() do one.fields[j] = text() end
  one.item = readItem()
  local key = wrongTask(one.base)
  local problem = key and unusable(key) or obstacle(one.item)
  if problem then return redis.error_reply(problem) end
  if redis.call('EXISTS', KEYS[one.base]) == 0 then singles[#singles + 1] = one end
end
-- The checks above have cached that these tasks do not exist.
ledgers, opened = {}, {}
for _, one in ipairs(singles) do
  local event = {
    status = 0, location = one.queued == 1 and WINDOW or ELSEWHERE, code = 0, result = 0, source = 0, run = 1, step = 1,
    started = 0, finished = 0, row = 0,
  }
  redis.call('HSET', KEYS[one.base], 'id', one.id, 'state', 'open', 'run', 1, 'total', 1, 'next', 1, 'enqueued', 1,
    'inWindow', one.queued, 'createdAt', one.created, 'score', one.due, 'single', 1, unpack(one.fields))
  redis.call('SETRANGE', KEYS[one.base + 1], 0, packed(event))
  redis.call('HSET', KEYS[one.base + 2], 'a0', one.args)
  redis.call('ZADD', KEYS[one.base + 8], one.due, one.id)
  redis.call('SADD', KEYS[2], one.queue)
  apply(one.item)
end
finish(channel)
