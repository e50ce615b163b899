-- Stores a part of a task from another store, and with the last part the task.
--
-- Until then its header has another name, the one that a sealed task has in its source. `transfer` is the name of the task,
-- and `cursor` that of the next part; a sealed task has no `cursor`. The deadlines of deferred rows wait in a sorted set.
--
-- KEYS  1 to 11 are the keys of the task (ledger.lua), 12 is queues, 13 is the header of an incomplete task, 14 is its
--       deadlines, 15 is its rows that came back (list of backlog entries), 16 is the parts of its files, 17 is the deferred
--       rows (sorted set: jid → deadline in ms), 18 is the names of the queues that have tasks, 19 is the pages.
-- ARGV  are now (ms), transfer, most pages to remember, the cursor of this part, that of the next one or "", number of fields of
--       the header, fields and values; index of the first row or "", records of the rows; four lists, each with its length
--       first: fields of rows with their values, entries of the backlog, those of rows that came back, deadlines with their
--       jids; number of rejected rows, of each index, status, code; number of files, of each index and bytes.
-- Returns "stored" or "void"; or "exists" when the id is in use; or "next" and the cursor of the next part.
-- include: arguments ledger backlog closing transfer-outcome

local NONE = {}

local function list()
  local count = number()
  local items = count > 0 and {} or NONE
  for i = 1, count do items[i] = text() end
  return items
end

QUEUES = KEYS[12]
now = number()
local header, deadlines, returned, files, pages = KEYS[13], KEYS[14], KEYS[15], KEYS[16], KEYS[19]
refuse(wrongTask(1) or wrong(header, 'hash') or wrong(deadlines, 'zset') or wrong(files, 'hash'))
refuse(wrong(returned, 'list') or wrong(KEYS[17], 'zset') or wrong(KEYS[18], 'set') or wrong(pages, 'zset'))
local transfer, kept, cursor, following = text(), number(), text(), text()
local page = transfer .. ':0'
local known = outcomeOf(pages, page)
if known then return { known } end

local stored = redis.call('HMGET', header, 'transfer', 'cursor')
local isNew = stored[1] ~= transfer or not stored[2]
local expected = isNew and '' or stored[2]
if cursor ~= expected then return { 'next', expected } end
removeNothing('HDEL', header)
local fields = list()
if isNew then
  if redis.call('EXISTS', KEYS[1]) == 1 or stored[1] and not stored[2] then return { 'exists' } end
  -- What an interrupted move of another name has left.
  redis.call('UNLINK', header, deadlines, returned, files, unpack(KEYS, 2, 6))
  each('HSET', header, fields)
end
redis.call('HSET', header, 'transfer', transfer, 'cursor', following)

local first, records = number(), text()
if first then redis.call('SETRANGE', KEYS[2], first * SIZE, records) end
each('HSET', KEYS[3], list())
each('RPUSH', KEYS[5], list())
each('RPUSH', returned, list())
each('ZADD', deadlines, list())
local ledger = { base = 1, slots = {} }
for i = 1, number() do
  local event = { index = number(), status = number(), group = text() }
  redis.call('ZADD', KEYS[4], scoreOf(ledger, event), event.index)
end
for i = 1, number() do
  local index, bytes = text(), text()
  redis.call('HSET', files, index, bytes)
  redis.call('HINCRBY', files, 'bytes', #bytes)
end
if following ~= '' then return { 'next', following } end

redis.call('HDEL', header, 'transfer', 'cursor')
redis.call('RENAME', header, KEYS[1])
local waiting = redis.call('ZRANGE', deadlines, 0, -1, 'WITHSCORES')
for i = 1, #waiting, 2 do redis.call('ZADD', KEYS[17], waiting[i + 1], waiting[i]) end
redis.call('DEL', deadlines)
-- Rows that came back are the first ones of the backlog.
local front = redis.call('LRANGE', returned, 0, -1)
for i = 1, math.floor(#front / 2) do front[i], front[#front + 1 - i] = front[#front + 1 - i], front[i] end
each('LPUSH', KEYS[5], front)
redis.call('DEL', returned)
ledger = ledgerOf(1)
redis.call('ZADD', KEYS[9], string.format('%d', ledger.score), ledger.id)
redis.call('SADD', KEYS[18], ledger.queue)
if ledger.backlog ~= 0 then redis.call('INCRBY', KEYS[8], ledger.backlog) end
if ledger.n[0] + ledger.n[1] > 0 then ledger.progressAt = now end
closeLedgers()
return { rememberOutcome(pages, page, 'stored', kept) }
