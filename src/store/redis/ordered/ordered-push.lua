-- Adds payloads to ids: all of them or none.
--
-- KEYS  as in ordered-open.lua.
-- ARGV  begin as there; then come the number of payloads, their ids, "1" if some ids are repeated or "", number of
--       groups, and of each: the shard of its ids, the shard where they may still be or "", performIn (with "w" before
--       it if it applies to a waiting id as well), number of payloads, and of each, in the order of the ids, its record
--       (ordered-state.lua).
-- Returns 1.
-- include: arguments ordered-open ordered-notify ordered-names

local refused = opened({ QUEUE, IDS, FLIGHTS, BEHIND, NAMES }, { 'zset' })
if refused then return refused end

local total = number()
local base = position
position = position + total
local records = redis.call('HMGET', IDS, unpack(ARGV, base + 1, base + total))
local flights = redis.call('EXISTS', FLIGHTS) == 1 and redis.call('HMGET', FLIGHTS, unpack(ARGV, base + 1, base + total)) or {}
local isRepeated, count = text() == '1', {}
if isRepeated then
  for i = base + 1, base + total do count[ARGV[i]] = (count[ARGV[i]] or 0) + 1 end
end

-- Collects new ids, to write them in few commands. Counters are faster than # for lists of this length.
local fields, behind, due, entered = {}, {}, {}, 0
local function enter(id, record, list, performIn)
  fields[entered + 1], fields[entered + 2] = id, record
  entered = entered + 2
  list[#list + 1] = performIn
  list[#list + 1] = id
end

-- Merges payloads into ids that wait already or are repeated.
local merged, changed = {}, {}
local function merge(i, home, old, record, fresh, performIn, wakes)
  local id, score, payload = ARGV[base + i], string.match(fresh, '^\n(%S+) (.*)$')
  local entry = merged[id]
  if not entry then
    entry = { id = id, home = home, old = old, isFlying = flights[i] }
    merged[id] = entry
    changed[#changed + 1] = entry
    if record then
      local last = string.find(record, '\n', 1, true)
      entry.line = string.sub(record, 1, last)
      entry.score, entry.payload = string.match(record, '^(%S+) (.*)$', last + 1)
      if not entry.payload then entry.more = {} end
    else
      entry.line, entry.score, entry.payload, entry.due = '\n', score, payload, performIn
    end
  elseif wakes and entry.due and tonumber(performIn) < tonumber(entry.due) then
    entry.due = performIn
  end
  if wakes and not entry.due and (not entry.wake or tonumber(performIn) < tonumber(entry.wake)) then
    entry.wake = performIn
  end
  if entry.more then
    entry.more[#entry.more + 1] = score
    entry.more[#entry.more + 1] = payload
  elseif entry.payload ~= payload then
    entry.more = { entry.score, entry.payload, score, payload }
    entry.isChanged = true
  elseif tonumber(score) < tonumber(entry.score) then
    entry.score, entry.isChanged = score, true
  end
end

local i = 0
for _ = 1, number() do
  local home, old, performIn, n = number(), number() or false, text(), number()
  local wakes = string.byte(performIn) == 119
  if wakes then performIn = string.sub(performIn, 2) end
  local list = due[home]
  if not list then
    list = {}
    due[home] = list
  end
  local listed = #list
  for _ = 1, n do
    i = i + 1
    local id, fresh, record = ARGV[base + i], text(), records[i]
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
for _, entry in ipairs(changed) do
  refuse(entry.more and wrong(PAYLOADS .. entry.id, 'zset'))
  local record = entry.more and entry.line or entry.line .. entry.score .. ' ' .. entry.payload
  if entry.due then
    enter(entry.id, record, entry.isFlying and behind or due[entry.home], entry.due)
  elseif entry.isChanged then
    fields[entered + 1], fields[entered + 2] = entry.id, record
    entered = entered + 2
  end
end

-- A server at its memory limit refuses the first of these writes, and then nothing has changed.
if entered > 0 then redis.call('HSET', IDS, unpack(fields)) end
for _, entry in ipairs(changed) do
  if entry.more then redis.call('ZADD', PAYLOADS .. entry.id, 'LT', unpack(entry.more)) end
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
-- When the first of the new ids of each shard is due. Mostly all of them have the same time.
local earliest = {}
for shard, times in pairs(due) do
  if #times > 0 then redis.call('ZADD', DUE[shard], unpack(times)) end
  local known
  for j = 1, #times, 2 do
    if times[j] ~= known then
      known = times[j]
      earliest[shard] = math.min(earliest[shard] or math.huge, tonumber(known))
    end
  end
end
local isWoken = false
for _, entry in ipairs(changed) do
  if entry.wake then
    isWoken = true
    for _, key in pairs({ BEHIND, DUE[entry.home], entry.old and DUE[entry.old] }) do
      if key then redis.call('ZADD', key, 'XX', 'LT', entry.wake, entry.id) end
    end
  end
end
for shard, time in pairs(before) do
  if (isWoken and first(shard) or earliest[shard] or time) < time then notifyShard(shard) end
end
forgetNames()
return 1
