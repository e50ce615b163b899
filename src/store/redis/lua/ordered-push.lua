-- Adds payloads to what waits of their ids: all of them or none.
--
-- KEYS  see ordered-open.lua.
-- ARGV  as there; how many payloads, their ids, "1" if some come several times or "" else; number of groups, and of each: the
--       shard of its ids, the one where they may still be or "", number of payloads, and of each, in the order of the ids,
--       its record (see ordered-book.lua) and performIn ("w" before it: also of one that waits).
-- Gives 1.
-- include: arguments ordered-open ordered-bell clock ordered-names

local refused = opened({ QUEUE, IDS, FLIGHTS, BEHIND, NAMES }, { 'zset' })
if refused then return refused end

local total = number()
local base = cursor
cursor = cursor + total
local records = redis.call('HMGET', IDS, unpack(ARGV, base + 1, base + total))
local flights = redis.call('EXISTS', FLIGHTS) == 1 and redis.call('HMGET', FLIGHTS, unpack(ARGV, base + 1, base + total)) or {}
local isRepeated, count = text() == '1', {}
if isRepeated then
  for i = base + 1, base + total do count[ARGV[i]] = (count[ARGV[i]] or 0) + 1 end
end

-- Of those that are new: with counters, and in as few steps as can be, for there are many.
local fields, behind, due, entered = {}, {}, {}, 0
local function enter(id, record, list, performIn)
  fields[entered + 1], fields[entered + 2] = id, record
  entered = entered + 2
  list[#list + 1] = performIn
  list[#list + 1] = id
end

-- What becomes of those that wait already, or come several times: their record, and further payloads.
local books, changed = {}, {}
local function merge(i, home, old, record, fresh, performIn, wakes)
  local id, score, payload = ARGV[base + i], string.match(fresh, '^\n(%S+) (.*)$')
  local book = books[id]
  if not book then
    book = { id = id, home = home, old = old, isFlying = flights[i] }
    books[id] = book
    changed[#changed + 1] = book
    if record then
      local last = string.find(record, '\n', 1, true)
      book.line = string.sub(record, 1, last)
      book.score, book.payload = string.match(record, '^(%S+) (.*)$', last + 1)
      if not book.payload then book.more = {} end
    else
      book.line, book.score, book.payload, book.due = '\n', score, payload, performIn
    end
  elseif wakes and book.due and tonumber(performIn) < tonumber(book.due) then
    book.due = performIn
  end
  if wakes and not book.due and (not book.wake or tonumber(performIn) < tonumber(book.wake)) then
    book.wake = performIn
  end
  if book.more then
    book.more[#book.more + 1] = score
    book.more[#book.more + 1] = payload
  elseif book.payload ~= payload then
    book.more = { book.score, book.payload, score, payload }
    book.isChanged = true
  elseif tonumber(score) < tonumber(book.score) then
    book.score, book.isChanged = score, true
  end
end

local i = 0
for _ = 1, number() do
  local home, old, n = number(), number() or false, number()
  local list = due[home]
  if not list then
    list = {}
    due[home] = list
  end
  local listed = #list
  for _ = 1, n do
    i = i + 1
    local id, fresh, performIn, record = ARGV[base + i], ARGV[cursor + 1], ARGV[cursor + 2], records[i]
    cursor = cursor + 2
    local wakes = string.byte(performIn) == 119
    if wakes then performIn = string.sub(performIn, 2) end
    if record or isRepeated and count[id] > 1 then
      merge(i, home, old, record, fresh, performIn, wakes)
    elseif flights[i] then
      enter(id, fresh, behind, performIn)
    else
      fields[entered + 1], fields[entered + 2] = id, fresh
      entered = entered + 2
      list[listed + 1], list[listed + 2] = performIn, id
      listed = listed + 2
    end
  end
end
for _, book in ipairs(changed) do
  if book.more and wrong(PAYLOADS .. book.id, 'zset') then
    return redis.error_reply(unusable(PAYLOADS .. book.id))
  end
  local record = book.more and book.line or book.line .. book.score .. ' ' .. book.payload
  if book.due then
    enter(book.id, record, book.isFlying and behind or due[book.home], book.due)
  elseif book.isChanged then
    fields[entered + 1], fields[entered + 2] = book.id, record
    entered = entered + 2
  end
end

-- The first of these may be refused when the server is full: nothing has changed then.
if entered > 0 then redis.call('HSET', IDS, unpack(fields)) end
for _, book in ipairs(changed) do
  if book.more then redis.call('ZADD', PAYLOADS .. book.id, 'LT', unpack(book.more)) end
end
if named then
  for j = 1, entered, 2 do redis.call('ZADD', NAMES, 0, fields[j]) end
end
if #behind > 0 then redis.call('ZADD', BEHIND, unpack(behind)) end

local function first(shard)
  return tonumber(redis.call('ZRANGE', DUE[shard], 0, 0, 'WITHSCORES')[2] or 'inf')
end
local before = {}
for shard in pairs(DUE) do before[shard] = first(shard) end
for shard, times in pairs(due) do
  if #times > 0 then redis.call('ZADD', DUE[shard], unpack(times)) end
end
for _, book in ipairs(changed) do
  if book.wake then
    for _, key in pairs({ BEHIND, DUE[book.home], book.old and DUE[book.old] }) do
      if key then redis.call('ZADD', key, 'XX', 'LT', book.wake, book.id) end
    end
  end
end
for shard, time in pairs(before) do
  if first(shard) < time then ringShard(shard) end
end
forgetNames()
return 1
