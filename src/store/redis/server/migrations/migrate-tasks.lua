-- Renames the fields of the headers of tasks and the codes of their events from their names of version 0.1: each header
-- in one step, and with each call about 500 rows of each task. Does nothing to what was renamed before, or to a task with
-- a key of the wrong type.
--
-- KEYS  are the first six keys of each task (ledger.lua).
-- ARGV  are the cursors in the rows of each task, which begin with 0.
-- Returns the next cursors: 0 for a task that is done; and the problems.
-- include: arguments ledger

local RENAMED = {
  adder = 'producer', adders = 'producers', tolerance = 'maxFailures', beyond = 'onMaxFailures', unknown = 'lostAfter',
  held = 'backlog', placed = 'inWindow', before = 'endedBefore', last = 'lastRow', created = 'createdAt',
  progress = 'progressAt', ended = 'finishedAt', watched = 'score',
}
local RENAMED_CODES = {
  foreign = 'ran-elsewhere', stalled = 'crashed', stopped = 'filtered', restored = 'rescued', apart = 'split',
}

local function renameHeader(header)
  for old, new in pairs(RENAMED) do
    local value = redis.call('HGET', header, old)
    if value then
      redis.call('HDEL', header, old)
      redis.call('HSET', header, new, value)
    end
  end
  -- Version 0.1 called keepArgs "keep", and what is "keep" now "stays". The former is a word, the latter a number.
  local keepArgs = redis.call('HGET', header, 'keep')
  if keepArgs and not tonumber(keepArgs) then
    redis.call('HDEL', header, 'keep')
    redis.call('HSET', header, 'keepArgs', keepArgs)
  end
  local keep = redis.call('HGET', header, 'stays')
  if keep then
    redis.call('HDEL', header, 'stays')
    redis.call('HSET', header, 'keep', keep)
  end
  local reason = redis.call('HGET', header, 'reason')
  if reason then
    redis.call('HSET', header, 'reason', (string.gsub(reason, '"code":"tolerance"', '"code":"too-many-failures"')))
  end
end

-- Renames the code of a rejected event.
local function renameCode(base, index, old)
  local rows, rejected = KEYS[base + 2], KEYS[base + 3]
  local score = redis.call('ZSCORE', rejected, index)
  if not score or redis.call('HGET', rows, 'c' .. index) ~= old then return end
  local slot = math.floor(score / 4294967296)
  if slot >= OTHER_CODES then slot = slot - OTHER_CODES end
  local event = { status = math.floor(slot / 256), group = RENAMED_CODES[old], index = index }
  redis.call('HSET', rows, 'c' .. index, event.group)
  redis.call('ZADD', rejected, string.format('%.0f', scoreOf({ base = base, slots = {} }, event)), index)
end

local function renameMessages(base, field, value)
  local lines, code = {}, nil
  for line in string.gmatch(value, '[^\n]+') do
    local before, found, after = string.match(line, '^(%d+ {"at":[^,]*,"code":")([^"]*)(".*)$')
    -- An error of the app may have the same code as an event of ours. Then its last message, but for those of
    -- ctx.message, is that error.
    if found ~= 'message' then code = found end
    local new = found and RENAMED_CODES[found]
    if new then line = before .. new .. string.gsub(after, '"stalls":', '"crashes":') end
    lines[#lines + 1] = line
  end
  if code and RENAMED_CODES[code] then renameCode(base, string.sub(field, 2), code) end
  local renamed = table.concat(lines, '\n')
  if renamed ~= value then redis.call('HSET', KEYS[base + 2], field, renamed) end
end

local function renameTask(base, at)
  for i = 0, 5 do
    local key = wrong(KEYS[base + i], TASK_KINDS[i])
    if key then
      report(unusable(key))
      return '0'
    end
  end
  removeNothing('HDEL', KEYS[base])
  if at == '0' then renameHeader(KEYS[base]) end
  local found = redis.call('HSCAN', KEYS[base + 2], at, 'MATCH', 'm*', 'COUNT', 500)
  for i = 1, #found[2], 2 do renameMessages(base, found[2][i], found[2][i + 1]) end
  return found[1]
end

local cursors = {}
for base = 1, #KEYS, 6 do cursors[#cursors + 1] = renameTask(base, text()) end
return { cursors, problems }
