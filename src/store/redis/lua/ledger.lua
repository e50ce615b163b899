-- The books of the tasks inside one call: events change, and counts follow. See waiting.lua and closing.lua.
--
-- A task is eleven keys, of which the first is named by its place in KEYS ("base"): +0 header (hash), +1 events (string
-- of records), +2 rows (hash: a|s|c|r|m|j|k and the index: arguments, source, code, result, messages, class, rows it has
-- added), +3 rejected (sorted set: index by (status * 256 + slot of its code) * 2^32 + index; slot 0: without a code,
-- 2048: with a code that has no slot), +4 backlog (list, see
-- waiting.lua), +5 reasons (hash: "status:code" → slot, status → slots given), +6 the task's queue, +7 rows held in that
-- queue, +8 the queue's tasks (sorted set: task → time of about its last progress, before that when a scheduled single job
-- is due, 0 while it is cancelled, minus the end of its time once it has ended), +9 and +10 the queues of what is to be pushed when it is done or fails.
--
-- A record has 20 bytes: 1 status + 8 * place + 32 * has code + 64 * has result + 128 * has source; 2 run; 3 step (twice the attempt, plus
-- one when it has ended); 5 started and 5 finished (ms since the task's creation + 1, or 0); 4 number in the source + 1.
--
-- The state in the header is open, cancelling, done or cancelled; what an open task is called besides comes of the fields
-- paused, adders (each with its kind, a line each) and broken (its adder was lost).

local RECORD = '<BI2I3I5I5I4'
local SIZE = 20
-- A new row is held until the task's `next` has passed it, and placed from then on: none of its bytes change by that.
local HELD, PLACED, ELSEWHERE, NEW = 0, 1, 2, 3
local REJECTED, CANCELLED = 3, 5
local KEPT_MESSAGES, FIRST_MESSAGES = 50, 10
-- The number of codes of each status with a slot of their own; rows of all other codes share one slot.
local MOST_SLOTS, OTHER_CODES = 255, 2048
local TASK_KINDS = {
  [0] = 'hash', 'string', 'hash', 'zset', 'list', 'hash', 'list', 'string', 'zset', 'list', 'list',
}
local FIELDS = {
  'state', 'paused', 'broken', 'adders', 'keep', 'progress', 'ended', 'id', 'queue', 'template',
  'run', 'total', 'next', 'held', 'placed', 'window', 'created', 'watched', 'rowsPerJob',
  'enqueued', 'working', 'finished', 'failed', 'error', 'cancelled',
}
local TEXTS, NUMBERS = 10, 19

-- Set by the script: its time in ms, and the key of Sidekiq's set of queue names.
local now, QUEUES = 0, nil
local books = {}
local opened = {}

local sound = {}

-- The first key of a task that holds something else than it should.
local function wrongTask(base)
  if sound[base] then return end
  for i = 0, 10 do
    if wrong(KEYS[base + i], TASK_KINDS[i]) then return KEYS[base + i] end
  end
  -- Places that were freed are filled again, whatever the call is about.
  if QUEUES and wrong(QUEUES, 'set') then return QUEUES end
  if not string.match(redis.call('GET', KEYS[base + 7]) or '0', '^%-?%d+$') then return KEYS[base + 7] end
  sound[base] = true
end

-- Runs a command with a list of any length, in pieces.
local function each(command, key, list)
  for from = 1, #list, 1000 do
    redis.call(command, key, unpack(list, from, math.min(from + 999, #list)))
  end
end

-- False when there is no such task (any more). Throws, and nothing is opened, when it can't be counted in.
local function bookOf(base)
  local book = books[base]
  if book ~= nil then return book end
  local before = redis.call('HMGET', KEYS[base], unpack(FIELDS))
  if not before[1] then
    books[base] = false
    return false
  end
  book = {
    base = base, events = {}, changed = {}, dropped = {}, kept = {}, slots = {}, before = before, n = {}, first = 0,
    records = '', written = {}, order = {},
  }
  for i, name in ipairs(FIELDS) do
    local value = before[i]
    if i > NUMBERS then
      book.n[i - NUMBERS - 1] = tonumber(value or 0)
    elseif i > TEXTS then
      book[name] = tonumber(value or 0)
    else
      book[name] = value or ''
    end
    if i > TEXTS and not tonumber(value or 0) then error(KEYS[base] .. ': its ' .. name .. ' is no number', 0) end
  end
  books[base] = book
  opened[#opened + 1] = book
  return book
end

-- The text in which an event's record stands, and where; nothing when there is no such event. Rows that are settled
-- together mostly stand together: some are read at once. What this call has written already counts.
local READ_AT_ONCE = 64

local function recordOf(book, index)
  local written = book.written[index]
  if written then return written, 1 end
  local at = (index - book.first) * SIZE
  if at < 0 or at + SIZE > #book.records then
    book.first, at = index, 0
    book.records = redis.call('GETRANGE', KEYS[book.base + 1], index * SIZE, (index + READ_AT_ONCE) * SIZE - 1)
    if #book.records < SIZE then return end
  end
  return book.records, at + 1
end

local function eventOf(book, index)
  local event = book.events[index]
  if event ~= nil then return event end
  local records, at = recordOf(book, index)
  if not records then
    book.events[index] = false
    return false
  end
  local flags, run, step, started, finished, row = struct.unpack(RECORD, records, at)
  event = {
    index = index, status = flags % 8, place = math.floor(flags / 8) % 4, code = math.floor(flags / 32) % 2,
    result = math.floor(flags / 64) % 2, source = math.floor(flags / 128), run = run,
    step = step, started = started, finished = finished, row = row,
  }
  if event.place == NEW then event.place = index < book.next and PLACED or HELD end
  event.before = event.status
  book.events[index] = event
  return event
end

local function touch(book, event)
  if event.touched then return end
  event.touched = true
  book.changed[#book.changed + 1] = event
end

local function packed(event)
  local flags = event.status + 8 * event.place + 32 * event.code + 64 * event.result + 128 * event.source
  return struct.pack(RECORD, flags, event.run, event.step, event.started, event.finished, event.row)
end

local function write(book, index, record)
  if not book.written[index] then book.order[#book.order + 1] = index end
  book.written[index] = record
end

local function since(book, at)
  return math.max(at - book.created, 0) + 1
end

-- Each message is a line: its number, a space, its JSON text. A jump in the numbers is where some were dropped.
local function addMessages(book, index, messages)
  if #messages == 0 then return end
  local field = 'm' .. index
  local lines = {}
  for line in string.gmatch(redis.call('HGET', KEYS[book.base + 2], field) or '', '[^\n]+') do lines[#lines + 1] = line end
  local last = #lines > 0 and tonumber(string.match(lines[#lines], '^%d+')) or 0
  for i, message in ipairs(messages) do
    if #lines >= KEPT_MESSAGES then table.remove(lines, FIRST_MESSAGES + 1) end
    lines[#lines + 1] = string.format('%d ', last + i) .. message
  end
  redis.call('HSET', KEYS[book.base + 2], field, table.concat(lines, '\n'))
end

local function isDropped(book, status)
  if status == 0 or book.keep == 'all' then return false end
  return book.keep == 'none' or status == 2
end

-- Keeps or drops a small text beside the event; answers the bit that says whether there is one.
local function note(book, event, letter, had, value)
  if value ~= '' then
    local kept = book.kept
    kept[#kept + 1] = letter .. event.index
    kept[#kept + 1] = value
    return 1
  end
  if had == 1 then book.dropped[#book.dropped + 1] = letter .. event.index end
  return 0
end

-- Gives the event's place back. What stands of it in the backlog is passed by when it comes.
local function leave(book, event)
  if event.place == PLACED then
    book.placed = book.placed - 1
  elseif event.place == HELD then
    book.held = book.held - 1
  end
  event.place = ELSEWHERE
end

-- Notes that a row of that run became failed or error; a row may still be of an earlier run than its task.
local function reject(book, run)
  book.rejectedRuns = book.rejectedRuns or {}
  book.rejectedRuns[run] = true
end

local function become(book, event, status, code)
  book.n[event.status] = book.n[event.status] - 1
  book.n[status] = book.n[status] + 1
  book.progress = now
  event.status = status
  event.code = note(book, event, 'c', event.code, code)
  event.group = code
  touch(book, event)
end

-- With its task: nothing but another run brings it back.
local function cancelEvent(book, event)
  leave(book, event)
  become(book, event, CANCELLED, 'cancelled')
  event.finished = since(book, now)
  event.drop = isDropped(book, CANCELLED)
end

local function wasCancelled(book, event)
  if event.status ~= CANCELLED then return false end
  return (event.group or redis.call('HGET', KEYS[book.base + 2], 'c' .. event.index)) == 'cancelled'
end

-- How far an event has come, and when.
local function reach(book, event, effect, step)
  event.run, event.step = effect.run, step
  if effect.status == 1 then
    event.started, event.finished = since(book, effect.at), 0
  else
    if effect.startedAt then event.started = since(book, effect.startedAt) end
    event.finished = effect.status == 0 and 0 or since(book, effect.at)
  end
end

-- False: the event has moved on without this attempt. A task that is gone has no say any more.
local function change(effect)
  local book = bookOf(effect.base)
  local event = book and eventOf(book, effect.index)
  if not event then return true end
  local status = effect.status
  local step = effect.attempt * 2 + (status == 1 and 0 or 1)
  if effect.run < event.run or (effect.run == event.run and step < event.step) then return false end
  if effect.run == event.run and wasCancelled(book, event) then return false end

  local again = effect.run == event.run and step == event.step and status == event.status
  if book.state ~= 'open' and book.state ~= 'done' and (status == 0 or status == 1 and not again) then
    -- Of a task that is stopped no row begins, and none waits to begin.
    if event.status <= 1 then
      if status == 0 then reach(book, event, effect, step) end
      cancelEvent(book, event)
      addMessages(book, event.index, effect.messages)
    end
    return false
  end

  reach(book, event, effect, step)
  -- One that waits here by now did not leave from here.
  local leaves = event.place == HELD and status ~= 0 or event.place == PLACED and effect.place == 'leave'
  if leaves then leave(book, event) end
  become(book, event, status, status == 1 and '' or effect.code)
  if status ~= 1 then
    event.result = note(book, event, 'r', event.result, effect.result)
    event.drop = isDropped(book, status)
  end
  if not again then
    addMessages(book, event.index, effect.messages)
    if status == REJECTED or status == 4 then reject(book, event.run) end
  end
  return true
end

-- Returns the slot in which rejected events of a code are listed.
local function slotOf(book, status, code)
  if code == '' then return 0 end
  local field = status .. ':' .. code
  local slot = book.slots[field]
  if slot then return slot end
  local key = KEYS[book.base + 5]
  slot = tonumber(redis.call('HGET', key, field) or nil)
  if not slot then
    local given = tonumber(redis.call('HGET', key, status) or 0)
    slot = given < MOST_SLOTS and given + 1 or OTHER_CODES
    if slot ~= OTHER_CODES then redis.call('HSET', key, field, slot, status, slot) end
  end
  book.slots[field] = slot
  return slot
end

local function scoreOf(book, event)
  return (event.status * 256 + slotOf(book, event.status, event.group)) * 4294967296 + event.index
end
