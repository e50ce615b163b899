-- Makes tasks of one row each, and stores its job: all of them or none. One that is there already stays as it is.
--
-- KEYS  1 queues, 2 names of the queues that have tasks; then the keys that items name, and those of each task (ledger.lua).
-- ARGV  now (ms), wake channel, number of jobs; of each: place of its task, its queue, its id, createdAt, when it is due
--       (ms), arguments, "1" if its place is in a queue or "0", number of fields of the header, fields and values; item
--       (moves.lua).
-- include: arguments ledger waiting closing iteration clock marks moves

QUEUES = KEYS[1]
now = number()
local channel = text()
local singles = {}
if wrong(KEYS[2], 'set') then return redis.error_reply(unusable(KEYS[2])) end
for i = 1, number() do
  local one = {
    base = number(), queue = text(), id = text(), created = text(), due = text(), args = text(), placed = number(),
    fields = {},
  }
  for j = 1, 2 * number() do one.fields[j] = text() end
  one.item = readItem()
  local key = wrongTask(one.base)
  local line = key and unusable(key) or obstacle(one.item)
  if line then return redis.error_reply(line) end
  if redis.call('EXISTS', KEYS[one.base]) == 0 then singles[#singles + 1] = one end
end
-- Those that are made here were not there when they were looked at.
books, opened = {}, {}
for _, one in ipairs(singles) do
  local event = {
    status = 0, place = one.placed == 1 and PLACED or ELSEWHERE, code = 0, result = 0, source = 0, run = 1, step = 1,
    started = 0, finished = 0, row = 0,
  }
  redis.call('HSET', KEYS[one.base], 'id', one.id, 'state', 'open', 'run', 1, 'total', 1, 'next', 1, 'enqueued', 1,
    'placed', one.placed, 'created', one.created, 'watched', one.due, 'single', 1, unpack(one.fields))
  redis.call('SETRANGE', KEYS[one.base + 1], 0, packed(event))
  redis.call('HSET', KEYS[one.base + 2], 'a0', one.args)
  redis.call('ZADD', KEYS[one.base + 8], one.due, one.id)
  redis.call('SADD', KEYS[2], one.queue)
  apply(one.item)
end
finish(channel)
