-- The books of the tasks inside one call: events change, counts follow, freed places are filled again.
--
-- A task is six keys, of which the first is named by its place in KEYS ("base"): +0 header (hash), +1 events (string of
-- records), +2 rows (hash: a|s|c|r|m and the index: arguments, source, code, result, messages), +3 rejected (sorted set:
-- index by status * 2^32 + index), +4 backlog (list of "index\ntext"), +5 the task's queue, +6 rows held in that queue.
--
-- A record has 20 bytes: 1 status + 8 * place + 32 * has code + 64 * has result; 2 run; 3 step (twice the attempt, plus
-- one when it has ended); 5 started and 5 finished (ms since the task's creation + 1, or 0); 4 number in the source + 1.

local RECORD = '<BI2I3I5I5I4'
local SIZE = 20
local HELD, PLACED, ELSEWHERE = 0, 1, 2
local STATUS = { [0] = 'enqueued', 'working', 'finished', 'failed', 'error', 'cancelled' }
local REJECTED = 3
local KEPT_MESSAGES, FIRST_MESSAGES = 50, 10
local MOST_AT_ONCE = 1000
local TASK_KINDS = { [0] = 'hash', 'string', 'hash', 'zset', 'list', 'list', 'string' }

-- Set by the script: its time in ms, and the key of Sidekiq's set of queue names.
local now, QUEUES = 0, nil
local books = {}
local opened = {}

local sound = {}

-- The first key of a task that holds something else than it should.
local function wrongTask(base)
  if sound[base] then return end
  for i = 0, 6 do
    if wrong(KEYS[base + i], TASK_KINDS[i]) then return KEYS[base + i] end
  end
  -- Places that were freed are filled again, whatever the call is about.
  if QUEUES and wrong(QUEUES, 'set') then return QUEUES end
  if not string.match(redis.call('GET', KEYS[base + 6]) or '0', '^%-?%d+$') then return KEYS[base + 6] end
  sound[base] = true
end

-- Runs a command with a list of any length, in pieces.
local function each(command, key, list)
  for from = 1, #list, 1000 do
    redis.call(command, key, unpack(list, from, math.min(from + 999, #list)))
  end
end

-- False when there is no such task (any more).
local function bookOf(base)
  local book = books[base]
  if book ~= nil then return book end
  local f = redis.call('HMGET', KEYS[base], 'state', 'run', 'total', 'next', 'held', 'placed', 'window', 'keep',
    'created', 'progress', 'ended', 'id', 'queue', 'template', 'enqueued', 'working', 'finished', 'failed', 'error',
    'cancelled')
  if not f[1] then
    books[base] = false
    return false
  end
  book = {
    base = base, state = f[1], run = tonumber(f[2]), total = tonumber(f[3]), next = tonumber(f[4]),
    held = tonumber(f[5]), placed = tonumber(f[6]), window = tonumber(f[7]), keep = f[8], created = tonumber(f[9]),
    progress = f[10] or '', ended = f[11] or '', id = f[12], queue = f[13], template = f[14],
    n = { [0] = tonumber(f[15]), tonumber(f[16]), tonumber(f[17]), tonumber(f[18]), tonumber(f[19]), tonumber(f[20]) },
    events = {}, changed = {}, dropped = {}, kept = {}, heldBefore = tonumber(f[5]),
  }
  books[base] = book
  opened[#opened + 1] = book
  return book
end

local function eventOf(book, index)
  local event = book.events[index]
  if event ~= nil then return event end
  local record = redis.call('GETRANGE', KEYS[book.base + 1], index * SIZE, index * SIZE + SIZE - 1)
  if #record < SIZE then
    book.events[index] = false
    return false
  end
  local flags, run, step, started, finished, row = struct.unpack(RECORD, record)
  event = {
    index = index, status = flags % 8, place = math.floor(flags / 8) % 4, code = math.floor(flags / 32) % 2,
    result = math.floor(flags / 64) % 2, run = run, step = step, started = started, finished = finished, row = row,
  }
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
  return struct.pack(RECORD, event.status + 8 * event.place + 32 * event.code + 64 * event.result, event.run,
    event.step, event.started, event.finished, event.row)
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

-- False: the event has moved on without this attempt. A task that is gone has no say any more.
local function change(effect)
  local book = bookOf(effect.base)
  local event = book and eventOf(book, effect.index)
  if not event then return true end
  local step = effect.attempt * 2 + (effect.status == 1 and 0 or 1)
  if effect.run < event.run or (effect.run == event.run and step < event.step) then return false end

  local again = effect.run == event.run and step == event.step and effect.status == event.status
  book.n[event.status] = book.n[event.status] - 1
  book.n[effect.status] = book.n[effect.status] + 1
  book.progress = now
  event.status, event.run, event.step = effect.status, effect.run, step
  if effect.place == 'leave' then
    if event.place == PLACED then book.placed = book.placed - 1 end
    event.place = ELSEWHERE
  end
  if effect.status == 1 then
    event.started, event.finished = since(book, effect.at), 0
    event.code = note(book, event, 'c', event.code, '')
  else
    if effect.startedAt then event.started = since(book, effect.startedAt) end
    event.finished = effect.status == 0 and 0 or since(book, effect.at)
    event.code = note(book, event, 'c', event.code, effect.code)
    event.result = note(book, event, 'r', event.result, effect.result)
    event.drop = isDropped(book, effect.status)
  end
  touch(book, event)
  if not again then addMessages(book, event.index, effect.messages) end
  return true
end

-- A job on its way into the queue; false when its task holds it back, and then it is kept here.
local function enter(effect, job)
  local book = bookOf(effect.base)
  local event = book and eventOf(book, effect.index)
  if not event or event.place == PLACED then return true end
  if event.place == HELD then return false end
  local room = book.placed < book.window and book.state ~= 'paused'
  if room then
    book.placed = book.placed + 1
  else
    redis.call('LPUSH', KEYS[book.base + 4], event.index .. '\n' .. job)
    book.held = book.held + 1
  end
  event.place = room and PLACED or HELD
  touch(book, event)
  return room
end

local function opening(object)
  return object == '{}' and '{' or string.sub(object, 1, -2) .. ','
end

-- A template that ends so wants times in seconds.
local IN_SECONDS = ',"enqueued_at":0.0}'

-- The whole payload of a row: the same as completeRow in job/payload.ts.
local function complete(book, index, run, args)
  local template, time = book.template, string.format('%d', now)
  if string.sub(template, -#IN_SECONDS) == IN_SECONDS then
    template = string.sub(template, 1, -#IN_SECONDS - 1) .. '}'
    time = string.format('%d.%03d', math.floor(now / 1000), now % 1000):gsub('0?0$', '')
  end
  local rest = string.format('"jid":"%s%08x","hk_run":%d,"enqueued_at":%s}', book.id, index, run, time)
  if string.sub(args, 1, 1) == '{' then return opening(args) .. rest end
  return opening(template) .. '"args":' .. args .. ',' .. rest
end

-- The next rows that were never in the queue, at most `room`.
local function issue(book, room, texts)
  while room > 0 and book.next < book.total do
    local first = book.next
    local count = math.min(book.total - first, math.max(room, 50), MOST_AT_ONCE)
    local records = redis.call('GETRANGE', KEYS[book.base + 1], first * SIZE, (first + count) * SIZE - 1)
    local fields, runs = {}, {}
    for i = 0, count - 1 do
      if #fields == room then break end
      local event = book.events[first + i]
      local flags, run = struct.unpack('<BI2', records, i * SIZE + 1)
      local status = event and event.status or flags % 8
      if status == 0 then
        fields[#fields + 1] = 'a' .. (first + i)
        runs[#runs + 1] = event and event.run or run
      end
      book.next = first + i + 1
    end
    if #fields > 0 then
      for i, args in ipairs(redis.call('HMGET', KEYS[book.base + 2], unpack(fields))) do
        texts[#texts + 1] = complete(book, tonumber(string.sub(fields[i], 2)), runs[i], args or '[]')
      end
      room = room - #fields
    end
  end
end

local function refill(book)
  if book.state == 'paused' or book.state == 'cancelling' or book.state == 'cancelled' then return end
  local room = math.min(book.window - book.placed, book.held, MOST_AT_ONCE)
  if room <= 0 then return end
  local texts = {}
  for _, line in ipairs(redis.call('LPOP', KEYS[book.base + 4], room) or {}) do
    local cut = string.find(line, '\n', 1, true)
    local event = eventOf(book, tonumber(string.sub(line, 1, cut - 1)))
    if event then
      event.place = PLACED
      touch(book, event)
    end
    texts[#texts + 1] = string.sub(line, cut + 1)
  end
  issue(book, room - #texts, texts)
  if #texts == 0 then return end
  book.held = book.held - #texts
  book.placed = book.placed + #texts
  redis.call('SADD', QUEUES, book.queue)
  each('LPUSH', KEYS[book.base + 5], texts)
end

local function moveOn(book)
  local open = book.n[0] + book.n[1]
  if book.state == 'running' and open == 0 then
    book.state, book.ended = 'done', now
  elseif book.state == 'done' and open > 0 then
    book.state, book.ended = 'running', ''
  end
end

local function save(book)
  local rows, events = KEYS[book.base + 2], KEYS[book.base + 1]
  for _, event in ipairs(book.changed) do
    redis.call('SETRANGE', events, event.index * SIZE, packed(event))
    if event.status ~= event.before then
      if event.status >= REJECTED then
        redis.call('ZADD', KEYS[book.base + 3], event.status * 4294967296 + event.index, event.index)
      elseif event.before >= REJECTED then
        redis.call('ZREM', KEYS[book.base + 3], event.index)
      end
    end
    if event.drop then
      book.dropped[#book.dropped + 1] = 'a' .. event.index
      book.dropped[#book.dropped + 1] = 's' .. event.index
    end
  end
  each('HDEL', rows, book.dropped)
  each('HSET', rows, book.kept)
  if book.held ~= book.heldBefore then redis.call('INCRBY', KEYS[book.base + 6], book.held - book.heldBefore) end
  redis.call('HSET', KEYS[book.base], 'state', book.state, 'run', book.run, 'total', book.total, 'next', book.next,
    'held', book.held, 'placed', book.placed, 'progress', book.progress, 'ended', book.ended, 'enqueued', book.n[0],
    'working', book.n[1], 'finished', book.n[2], 'failed', book.n[3], 'error', book.n[4], 'cancelled', book.n[5])
end

local function closeBook(book)
  refill(book)
  moveOn(book)
  save(book)
end

-- Fills free places, moves the states on, and writes what was touched. With `tell`, a book that can't be closed (its
-- header is damaged) is told, and keeps nobody else from being served.
local function closeBooks(tell)
  for _, book in ipairs(opened) do
    if tell then
      local ok, err = pcall(closeBook, book)
      if not ok then tell(KEYS[book.base] .. ': ' .. tostring(type(err) == 'table' and err.err or err)) end
    else
      closeBook(book)
    end
  end
  books, opened = {}, {}
end
