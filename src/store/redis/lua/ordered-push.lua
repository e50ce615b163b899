-- Adds payloads to what waits of their ids: all of them or none.
--
-- KEYS  see ordered-open.lua.
-- ARGV  as there; number of groups, and of each: the shard of its ids, the one where they may still be or "", number of
--       payloads, and of each id, payload, score, performIn ("w" before it: also of one that waits).
-- Gives 1.
-- include: arguments ordered-open ordered-bell

local refused = opened()
if refused then return refused end

-- Without tables of their own: there are many.
local ids, payloads, scores, times, homes, olds, count = {}, {}, {}, {}, {}, {}, {}
for i = 1, number() do
  local home, old = number(), number() or false
  for j = 1, number() do
    local id = ARGV[cursor + 1]
    local n = #ids + 1
    ids[n], payloads[n], scores[n], times[n] = id, ARGV[cursor + 2], ARGV[cursor + 3], ARGV[cursor + 4]
    homes[n], olds[n] = home, old
    count[id] = (count[id] or 0) + 1
    cursor = cursor + 4
  end
end
local records = redis.call('HMGET', IDS, unpack(ids))
local flights = redis.call('EXISTS', FLIGHTS) == 1 and redis.call('HMGET', FLIGHTS, unpack(ids)) or {}

local fields, names, behind, due = {}, {}, {}, {}
local function enter(id, record, home, isFlying, performIn)
  local n, m = #fields, #names
  fields[n + 1], fields[n + 2] = id, record
  names[m + 1], names[m + 2] = '0', id
  local list = behind
  if not isFlying then
    list = due[home]
    if not list then
      list = {}
      due[home] = list
    end
  end
  local k = #list
  list[k + 1], list[k + 2] = performIn, id
end

-- What becomes of those that wait already, or come several times: their record, and further payloads.
local books, changed = {}, {}
for i, id in ipairs(ids) do
  local record, score, payload, performIn = records[i], scores[i], payloads[i], times[i]
  local wakes = string.byte(performIn) == 119
  if wakes then performIn = string.sub(performIn, 2) end
  local book = books[id]
  if not record and count[id] == 1 then
    enter(id, '\n' .. score .. ' ' .. payload, homes[i], flights[i], performIn)
  elseif not book then
    book = { id = id, home = homes[i], old = olds[i], isFlying = flights[i] }
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
  if book then
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
end
for _, book in ipairs(changed) do
  if book.more and wrong(PAYLOADS .. book.id, 'zset') then
    return redis.error_reply(unusable(PAYLOADS .. book.id))
  end
  local record = book.more and book.line or book.line .. book.score .. ' ' .. book.payload
  if book.due then
    enter(book.id, record, book.home, book.isFlying, book.due)
  elseif book.isChanged then
    fields[#fields + 1] = book.id
    fields[#fields + 1] = record
  end
end

-- The first of these may be refused when the server is full: nothing has changed then.
if #fields > 0 then redis.call('HSET', IDS, unpack(fields)) end
for _, book in ipairs(changed) do
  if book.more then redis.call('ZADD', PAYLOADS .. book.id, 'LT', unpack(book.more)) end
end
if #names > 0 then redis.call('ZADD', NAMES, unpack(names)) end
if #behind > 0 then redis.call('ZADD', BEHIND, unpack(behind)) end

local function first(shard)
  return tonumber(redis.call('ZRANGE', DUE[shard], 0, 0, 'WITHSCORES')[2] or 'inf')
end
local before = {}
for shard in pairs(DUE) do before[shard] = first(shard) end
for shard, times in pairs(due) do redis.call('ZADD', DUE[shard], unpack(times)) end
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
return 1
