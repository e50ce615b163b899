-- What follows when the books of a call are closed: tolerance is judged, free places are filled, states move on, what is
-- to be told is pushed, and all that was touched is written.

-- Its progress is noted among the queue's tasks no oftener.
local WATCH_MS = 60000

local function header(book, ...)
  return redis.call('HMGET', KEYS[book.base], ...)
end

-- Nothing comes into the queue any more; who works ends as it ends.
local function stop(book, reason)
  book.state, book.adders, book.paused, book.broken = 'cancelling', '', '', ''
  redis.call('HSET', KEYS[book.base], 'reason', reason, 'sweep', 0)
end

-- `isAtEnd`: adding has just ended, so that of few ended rows it is known of how many they are; who puts rows back adds
-- none.
local function judge(book, isAtEnd)
  if book.state ~= 'open' or book.paused ~= '' then return end
  local told = header(book, 'tolerance', 'beyond')
  local kind, most = string.match(told[1] or '', '^([rp])(.*)$')
  if not kind then return end
  local n = book.n
  local rejected = n[3] + n[4]
  local ended = n[2] + rejected + n[5]
  most = tonumber(most)
  local isBeyond, of = book.rejectedRuns and rejected > most, ended
  if kind == 'p' then
    if ended < 100 then of = book.total end
    isBeyond = (ended >= 100 or isAtEnd) and rejected * 100 > most * of
  end
  if not isBeyond then return end
  local reason = string.format('{"at":%d,"code":"tolerance","params":{"rejected":%d,"ended":%d}}', now, rejected, of)
  if told[2] == 'cancel' then return stop(book, reason) end
  book.paused = '1'
  redis.call('HSET', KEYS[book.base], 'reason', reason)
end

-- Pushes the callback job that was made at the task's creation, once in each run. `which`: done | failure. A run does
-- nothing when a later run had a rejected row first.
local function announce(book, which, run)
  local told = header(book, which .. 'Template', which .. 'Queue', which .. 'Run')
  if not told[1] or tonumber(told[3] or 0) >= run then return end
  redis.call('HSET', KEYS[book.base], which .. 'Run', run)
  local template, time = timed(told[1])
  local mark = which == 'done' and 'ff' or 'fe'
  local rest = '"args":["%s",%d],"jid":"%s%s%06x","enqueued_at":%s}'
  local job = opening(template) .. string.format(rest, book.id, run, book.id, mark, run, time)
  redis.call('SADD', QUEUES, told[2])
  redis.call('LPUSH', KEYS[book.base + (which == 'done' and 9 or 10)], job)
end

local function announceFailures(book)
  if not book.rejectedRuns then return end
  local runs = {}
  for run in pairs(book.rejectedRuns) do runs[#runs + 1] = run end
  table.sort(runs)
  for _, run in ipairs(runs) do announce(book, 'failure', run) end
end

local function moveOn(book)
  local open = book.n[0] + book.n[1]
  if book.state == 'cancelling' and open == 0 then
    book.state, book.ended = 'cancelled', now
    announce(book, 'done', book.run)
  elseif book.state == 'open' and open == 0 and book.adders == '' and book.broken == '' then
    -- What a pause held is over, and so is the pause; that too many were rejected stays true.
    if book.paused ~= '' and not string.find(header(book, 'reason')[1] or '', '"code":"tolerance"', 1, true) then
      redis.call('HSET', KEYS[book.base], 'reason', '')
    end
    book.state, book.paused, book.ended = 'done', '', now
    announce(book, 'done', book.run)
  elseif book.state == 'done' and open > 0 then
    book.state, book.ended = 'open', ''
  end
end

-- Where the task stands among those of its queue.
local function watch(book)
  local score
  if book.state == 'done' or book.state == 'cancelled' then
    if book.state == book.before[1] then return end
    local kept = tonumber(header(book, 'stays')[1] or 2592000000)
    score = -(now + kept)
  elseif book.state == 'cancelling' then
    score = 0
  else
    -- A task without progress keeps its first place.
    score = tonumber(book.progress) or math.max(book.watched, book.created)
    if book.state == book.before[1] and math.abs(score - book.watched) < WATCH_MS then return end
  end
  if score == book.watched then return end
  book.watched = score
  redis.call('ZADD', KEYS[book.base + 8], string.format('%d', score), book.id)
end

-- Those of rows that follow each other in one piece.
local function saveRecords(book)
  local order, written, records, first = book.order, book.written, {}, nil
  for i, index in ipairs(order) do
    first = first or index
    records[#records + 1] = written[index]
    if order[i + 1] ~= index + 1 then
      redis.call('SETRANGE', KEYS[book.base + 1], first * SIZE, table.concat(records))
      records, first = {}, nil
    end
  end
end

local function saveEvents(book)
  local rows, rejected = KEYS[book.base + 2], KEYS[book.base + 3]
  for _, event in ipairs(book.changed) do
    if event.drop then
      book.dropped[#book.dropped + 1] = 'a' .. event.index
      if event.source == 1 then book.dropped[#book.dropped + 1] = 's' .. event.index end
      event.source = 0
    end
    write(book, event.index, packed(event))
    if event.status >= REJECTED then
      if event.group then redis.call('ZADD', rejected, scoreOf(book, event), event.index) end
    elseif event.before >= REJECTED then
      redis.call('ZREM', rejected, event.index)
    end
  end
  saveRecords(book)
  each('HDEL', rows, book.dropped)
  each('HSET', rows, book.kept)
end

local function saveHeader(book)
  local fields = {}
  for i, name in ipairs(FIELDS) do
    local value, before = nil, book.before[i]
    if i > NUMBERS then value = book.n[i - NUMBERS - 1] else value = book[name] end
    if type(value) == 'number' then before = tonumber(before or 0) else before = before or '' end
    if value ~= before then
      fields[#fields + 1] = name
      fields[#fields + 1] = value
    end
    if name == 'held' and value ~= before then redis.call('INCRBY', KEYS[book.base + 7], value - before) end
  end
  each('HSET', KEYS[book.base], fields)
end

local function closeBook(book)
  if book.rejectedRuns then judge(book) end
  refill(book)
  announceFailures(book)
  moveOn(book)
  saveEvents(book)
  watch(book)
  saveHeader(book)
end

-- With `complain`, a book that can't be closed (its header is damaged) is told, and keeps nobody else from being served.
local function closeBooks(complain)
  for _, book in ipairs(opened) do
    if complain then
      local ok, err = pcall(closeBook, book)
      if not ok then complain(KEYS[book.base] .. ': ' .. lineOf(err)) end
    else
      closeBook(book)
    end
  end
  books, opened = {}, {}
end
