-- Reads and changes the ledger of tasks inside one call: events and counts. See backlog.lua and closing.lua.
--
-- A task has eleven keys; the number of the first one in KEYS is its base. +0 header (hash). +1 events (string of
-- records). +2 rows (hash: a|s|c|r|m|j|k|d and the index: arguments, source, code, result, messages, class, rows that
-- it has added, deferral). +3 rejected (sorted set: index by (status * 256 + slot of its code) * 2^32 + index; slot 0: without
-- a code, 2048: with a code that has no slot). +4 backlog (list, see backlog.lua). +5 reasons (hash: "status:code" →
-- slot, status → number of slots). +6 the queue of the task. +7 the number of backlog rows of that queue. +8 the
-- tasks of that queue (sorted set: task → about the time of its last progress, and before that the time at which a
-- scheduled single job is due; 0 while it is being cancelled; minus the end of its time once it has ended). +9 and
-- +10 the queues of the callbacks for done and for failure.
--
-- A record has 20 bytes. 1 byte: status + 8 * location + 32 * has code + 64 * has result + 128 * has source. 2: run. 3:
-- step (twice the attempt, plus one when it has ended). 5 and 5: started and finished (ms since the creation of the
-- task, plus 1; or 0). 4: number in the source, plus 1.
--
-- The state in the header is open, cancelling, done or cancelled. What else an open task is called follows from the
-- fields paused, producers (a line for each producer, with its kind) and broken (producers that were lost). The field moving
-- is 1 while the task is frozen, for a move to another store. While it is sealed, or not complete yet, its header has another
-- name (task-put.lua), so that nothing finds it.

local RECORD = '<BI2I3I5I5I4'
local SIZE = 20
-- UNTOUCHED: nothing has happened to the row since it was added. It is in the backlog until `next` of the task has
-- passed it, and in the window from then on, without a change of its record.
local BACKLOG, WINDOW, ELSEWHERE, UNTOUCHED = 0, 1, 2, 3
local FAILED, ERROR, CANCELLED = 3, 4, 5
-- A row with this status or a higher one ended without success.
local UNSUCCESSFUL = FAILED
local KEPT_MESSAGES, FIRST_MESSAGES = 50, 10
-- The number of codes of each status with a slot of their own. Rows with any other code share one slot.
local MOST_SLOTS, OTHER_CODES = 255, 2048
local TASK_KINDS = {
  [0] = 'hash', 'string', 'hash', 'zset', 'list', 'hash', 'list', 'string', 'zset', 'list', 'list',
}
local FIELDS = {
  'state', 'paused', 'broken', 'producers', 'keepArgs', 'progressAt', 'finishedAt', 'id', 'queue', 'template', 'moving',
  'run', 'total', 'next', 'backlog', 'inWindow', 'window', 'createdAt', 'score', 'rowsPerJob',
  'enqueued', 'working', 'finished', 'failed', 'error', 'cancelled',
}
local TEXTS, NUMBERS = 11, 20

-- The script sets these: its time in ms, and the key of Sidekiq's set of queue names.
local now, QUEUES = 0, nil

-- Adds the name of a queue. Workers learn of a new priority of a queue by the version of the cancellations.
local function addName(queue)
  if redis.call('SADD', QUEUES, queue) == 0 or not string.find(queue, '^p[1-9]:.') then return end
  local version = string.sub(QUEUES, 1, -#'queues' - 1) .. 'hk:cancellation-version'
  if wrong(version, 'string') then return end
  redis.call('SET', version, string.format('%d', (tonumber(redis.call('GET', version)) or 0) + 1))
end

local ledgers = {}
local opened = {}

local sound = {}

-- Returns the first key of a task that has the wrong type.
local function wrongTask(base)
  if sound[base] then return end
  for i = 0, 10 do
    if wrong(KEYS[base + i], TASK_KINDS[i]) then return KEYS[base + i] end
  end
  -- Every call may refill the window, whatever it is for.
  if QUEUES and wrong(QUEUES, 'set') then return QUEUES end
  if not string.match(redis.call('GET', KEYS[base + 7]) or '0', '^%-?%d+$') then return KEYS[base + 7] end
  sound[base] = true
end

-- Runs a command with a list of any length, in chunks.
local function each(command, key, list)
  for from = 1, #list, 1000 do
    redis.call(command, key, unpack(list, from, math.min(from + 999, #list)))
  end
end

-- Opens the ledger of a task. Returns false when there is no such task. Throws, and opens nothing, when a count is not a
-- number.
local function ledgerOf(base)
  local ledger = ledgers[base]
  if ledger ~= nil then return ledger end
  local stored = redis.call('HMGET', KEYS[base], unpack(FIELDS))
  if not stored[1] then
    ledgers[base] = false
    return false
  end
  ledger = {
    base = base, events = {}, changed = {}, dropped = {}, kept = {}, slots = {}, stored = stored, n = {}, first = 0,
    records = '', written = {}, order = {},
  }
  for i, name in ipairs(FIELDS) do
    local value = stored[i]
    if i > NUMBERS then
      ledger.n[i - NUMBERS - 1] = tonumber(value or 0)
    elseif i > TEXTS then
      ledger[name] = tonumber(value or 0)
    else
      ledger[name] = value or ''
    end
    if i > TEXTS and not tonumber(value or 0) then error(KEYS[base] .. ': its ' .. name .. ' is not a number', 0) end
  end
  ledgers[base] = ledger
  opened[#opened + 1] = ledger
  return ledger
end

-- Returns a text with the record of an event, and where the record begins; nothing when there is no such event. Rows
-- that are settled together mostly are consecutive, so several records are read at once. Changes of this call count
-- already.
local READ_AT_ONCE = 64

local function recordOf(ledger, index)
  local written = ledger.written[index]
  if written then return written, 1 end
  local at = (index - ledger.first) * SIZE
  if at < 0 or at + SIZE > #ledger.records then
    ledger.first, at = index, 0
    ledger.records = redis.call('GETRANGE', KEYS[ledger.base + 1], index * SIZE, (index + READ_AT_ONCE) * SIZE - 1)
    if #ledger.records < SIZE then return end
  end
  return ledger.records, at + 1
end

local function eventOf(ledger, index)
  local event = ledger.events[index]
  if event ~= nil then return event end
  local records, at = recordOf(ledger, index)
  if not records then
    ledger.events[index] = false
    return false
  end
  local flags, run, step, started, finished, row = struct.unpack(RECORD, records, at)
  event = {
    index = index, status = flags % 8, location = math.floor(flags / 8) % 4, code = math.floor(flags / 32) % 2,
    result = math.floor(flags / 64) % 2, source = math.floor(flags / 128), run = run,
    step = step, started = started, finished = finished, row = row,
  }
  if event.location == UNTOUCHED then event.location = index < ledger.next and WINDOW or BACKLOG end
  event.before = event.status
  ledger.events[index] = event
  return event
end

local function touch(ledger, event)
  if event.touched then return end
  event.touched = true
  ledger.changed[#ledger.changed + 1] = event
end

local function packed(event)
  local flags = event.status + 8 * event.location + 32 * event.code + 64 * event.result + 128 * event.source
  return struct.pack(RECORD, flags, event.run, event.step, event.started, event.finished, event.row)
end

local function write(ledger, index, record)
  if not ledger.written[index] then ledger.order[#ledger.order + 1] = index end
  ledger.written[index] = record
end

local function since(ledger, at)
  return math.max(at - ledger.createdAt, 0) + 1
end

-- Adds messages to an event. Each message is a line: its number, a space, its JSON text. A gap in the numbers shows
-- where messages were dropped.
local function addMessages(ledger, index, messages)
  if #messages == 0 then return end
  local field = 'm' .. index
  local lines = {}
  for line in string.gmatch(redis.call('HGET', KEYS[ledger.base + 2], field) or '', '[^\n]+') do lines[#lines + 1] = line end
  local last = #lines > 0 and tonumber(string.match(lines[#lines], '^%d+')) or 0
  for i, message in ipairs(messages) do
    if #lines >= KEPT_MESSAGES then table.remove(lines, FIRST_MESSAGES + 1) end
    lines[#lines + 1] = string.format('%d ', last + i) .. message
  end
  redis.call('HSET', KEYS[ledger.base + 2], field, table.concat(lines, '\n'))
end

local function isDropped(ledger, status)
  if status == 0 or ledger.keepArgs == 'all' then return false end
  return ledger.keepArgs == 'none' or status == 2
end

-- Adds a field of a row to a list of fields and values, unless its text is empty.
local function addField(fields, letter, index, value)
  if value == '' then return end
  fields[#fields + 1] = letter .. index
  fields[#fields + 1] = value
end

-- Keeps or drops a small text beside the event. Returns the bit that tells whether there is one.
local function note(ledger, event, letter, had, value)
  if value ~= '' then
    addField(ledger.kept, letter, event.index, value)
    return 1
  end
  if had == 1 then ledger.dropped[#ledger.dropped + 1] = letter .. event.index end
  return 0
end

-- Removes an event from the window or the backlog. A backlog entry stays, and is skipped when it is read.
local function leave(ledger, event)
  if event.location == WINDOW then
    ledger.inWindow = ledger.inWindow - 1
  elseif event.location == BACKLOG then
    ledger.backlog = ledger.backlog - 1
  end
  event.location = ELSEWHERE
end

-- Remembers the run if one of its rows became failed or error; it may be an earlier run than that of the task.
local function noteRejection(ledger, run, status)
  if status ~= FAILED and status ~= ERROR then return end
  ledger.rejectedRuns = ledger.rejectedRuns or {}
  ledger.rejectedRuns[run] = true
end

local function become(ledger, event, status, code)
  ledger.n[event.status] = ledger.n[event.status] - 1
  ledger.n[status] = ledger.n[status] + 1
  ledger.progressAt = now
  event.status = status
  event.code = note(ledger, event, 'c', event.code, code)
  event.group = code
  touch(ledger, event)
end

-- Cancels a row together with its task: only another run brings it back.
local function cancelEvent(ledger, event)
  leave(ledger, event)
  become(ledger, event, CANCELLED, 'cancelled')
  event.finished = since(ledger, now)
  event.drop = isDropped(ledger, CANCELLED)
end

local function wasCancelled(ledger, event)
  if event.status ~= CANCELLED then return false end
  return (event.group or redis.call('HGET', KEYS[ledger.base + 2], 'c' .. event.index)) == 'cancelled'
end

-- Sets run, step and times of an event.
local function reach(ledger, event, effect, step)
  event.run, event.step = effect.run, step
  if effect.status == 1 then
    -- A row that is parked began before.
    local started = effect.at
    if effect.window == 'park' then started = effect.startedAt end
    if started then event.started = since(ledger, started) end
    event.finished = 0
  else
    if effect.startedAt then event.started = since(ledger, effect.startedAt) end
    event.finished = effect.status == 0 and 0 or since(ledger, effect.at)
  end
end

-- Returns the deferral of a row in its present run. In the rows it is a text: run, attempt, deadline (ms), and its state, r
-- (its handler runs or broke off), p (the row is parked), or e (the row was ended from outside).
local function deferralOf(ledger, event)
  local text = redis.call('HGET', KEYS[ledger.base + 2], 'd' .. event.index) or ''
  local run, attempt, ends, state = string.match(text, '^(%d+) (%d+) (%d+) ([rpe])$')
  if tonumber(run or nil) ~= event.run then return end
  return { attempt = tonumber(attempt), ends = tonumber(ends), state = state }
end

-- Stores a deferral with this state. The header counts the parked rows.
local function saveDeferral(ledger, event, deferral, state)
  local difference = (state == 'p' and 1 or 0) - (deferral.state == 'p' and 1 or 0)
  if difference ~= 0 then redis.call('HINCRBY', KEYS[ledger.base], 'deferred', difference) end
  local text = string.format('%d %d %d %s', event.run, deferral.attempt, deferral.ends, state)
  redis.call('HSET', KEYS[ledger.base + 2], 'd' .. event.index, text)
end

-- Returns whether the row was not parked before.
local function park(ledger, event)
  local deferral = deferralOf(ledger, event)
  if not deferral or deferral.state ~= 'r' or deferral.attempt ~= math.floor(event.step / 2) then return false end
  saveDeferral(ledger, event, deferral, 'p')
  return true
end

-- Drops a row that is cancelled, and would wait for its end from outside. Returns false if it is not cancelled.
local function dropCancelled(ledger, event)
  local key = string.sub(QUEUES, 1, -#'queues' - 1) .. 'hk:cancelled'
  local jid = ledger.id .. string.format('%08x', event.index)
  if wrong(key, 'zset') or tonumber(redis.call('ZSCORE', key, jid) or 0) <= 0 then return false end
  redis.call('ZADD', key, droppedAt(true), jid)
  return true
end

local function wasEndedOutside(ledger, event)
  local deferral = deferralOf(ledger, event)
  return deferral and deferral.state == 'e'
end

-- Applies an effect to its event. Returns false when the event has moved on without this attempt. Does nothing when
-- the task is gone.
local function change(effect)
  local ledger = ledgerOf(effect.base)
  local event = ledger and eventOf(ledger, effect.index)
  if not event then return true end
  local status = effect.status
  local step = effect.attempt * 2 + (status == 1 and 0 or 1)
  local parks = effect.window == 'park'
  if effect.run == event.run and event.status > 1 and wasEndedOutside(ledger, event) then
    if parks then addMessages(ledger, event.index, effect.messages) end
    return false
  end
  if effect.run < event.run or (effect.run == event.run and step < event.step) then return false end
  if effect.run == event.run and wasCancelled(ledger, event) then return false end

  local again = effect.run == event.run and step == event.step and status == event.status
  if ledger.state ~= 'open' and ledger.state ~= 'done' and (status == 0 or parks or status == 1 and not again) then
    -- A task that is being cancelled starts no row and keeps none waiting.
    if event.status <= 1 then
      if status == 0 then reach(ledger, event, effect, step) end
      cancelEvent(ledger, event)
      addMessages(ledger, event.index, effect.messages)
    end
    return false
  end

  if parks and dropCancelled(ledger, event) then
    cancelEvent(ledger, event)
    addMessages(ledger, event.index, effect.messages)
    return true
  end
  reach(ledger, event, effect, step)
  -- A row that is back in the backlog by now does not leave the window.
  local leaves = event.location == BACKLOG and status ~= 0 or event.location == WINDOW and (parks or effect.window == 'leave')
  if leaves then leave(ledger, event) end
  become(ledger, event, status, status == 1 and '' or effect.code)
  local isParked = parks and park(ledger, event)
  if status ~= 1 then
    event.result = note(ledger, event, 'r', event.result, effect.result)
    event.drop = isDropped(ledger, status)
  end
  if not again or isParked then addMessages(ledger, event.index, effect.messages) end
  if not again then noteRejection(ledger, event.run, status) end
  return true
end

-- Returns the slot in which unsuccessful events of a code are listed.
local function slotOf(ledger, status, code)
  if code == '' then return 0 end
  local field = status .. ':' .. code
  local slot = ledger.slots[field]
  if slot then return slot end
  local key = KEYS[ledger.base + 5]
  slot = tonumber(redis.call('HGET', key, field) or nil)
  if not slot then
    local given = tonumber(redis.call('HGET', key, status) or 0)
    slot = given < MOST_SLOTS and given + 1 or OTHER_CODES
    if slot ~= OTHER_CODES then redis.call('HSET', key, field, slot, status, slot) end
  end
  ledger.slots[field] = slot
  return slot
end

local function scoreOf(ledger, event)
  return (event.status * 256 + slotOf(ledger, event.status, event.group)) * 4294967296 + event.index
end
