-- Rows that wait inside their task for a place in the queue.
--
-- An entry of the backlog is a line that says whose it is, and what is needed to make its job: the arguments of a new row,
-- and behind them its source; or "!" and the whole text of a job that came back; or "@" and nothing, for a row that is run
-- again and has its arguments in the rows. The line is: index; ":" and the run, unless it is 1; then "!", or "@" and how
-- many rows the task had at that time, or " " and the length of the arguments if a source follows.
--
-- First come those that came back, then the others in the order in which they were added. An entry is dead when its event
-- is not held any more, or in another run.

local MOST_AT_ONCE = 1000
local MOST_BYTES = 1000000
-- Where several rows are one job.
local MOST_ROWS = 10000

local function entryOf(index, run, mark, rest)
  return index .. (run > 1 and ':' .. run or '') .. mark .. '\n' .. rest
end

local function newEntry(index, run, args, source)
  if source == '' then return entryOf(index, run, '', args) end
  return entryOf(index, run, ' ' .. #args, args .. source)
end

-- Gives index, run, mark ("" of a new row), number behind the mark, text; and the index as it stands there.
local function readEntry(entry)
  local cut = string.find(entry, '\n', 1, true)
  local head, rest = string.sub(entry, 1, cut - 1), string.sub(entry, cut + 1)
  local index = tonumber(head)
  if index then return index, 1, '', nil, rest, head end
  local place, run, mark, number = string.match(head, '^(%d+):?(%d*)([!@ ]?)(%d*)$')
  return tonumber(place), tonumber(run) or 1, mark, tonumber(number), rest, place
end

-- The arguments of a new row, and its source.
local function splitRow(mark, length, rest)
  if mark ~= ' ' then return rest, '' end
  return string.sub(rest, 1, length), string.sub(rest, length + 1)
end

-- A job on its way into the queue; false when its task holds it back, and then it is kept here.
local function enter(effect, job)
  local book = bookOf(effect.base)
  local event = book and eventOf(book, effect.index)
  if not event or event.place == PLACED then return true end
  if event.place == HELD then return false end
  local room = book.placed < book.window and book.paused == ''
  if room then
    book.placed = book.placed + 1
  else
    redis.call('LPUSH', KEYS[book.base + 4], entryOf(event.index, event.run, '!', job))
    book.held = book.held + 1
  end
  event.place = room and PLACED or HELD
  touch(book, event)
  return room
end

local function opening(object)
  return object == '{}' and '{' or string.sub(object, 1, -2) .. ','
end

local BRACE = string.byte('{')

-- A template that ends so wants times in seconds.
local IN_SECONDS = ',"enqueued_at":0.0}'

-- The template without its time, and the time as it wants it.
local function timed(template)
  if string.sub(template, -#IN_SECONDS) ~= IN_SECONDS then return template, string.format('%d', now) end
  local time = string.format('%d.%03d', math.floor(now / 1000), now % 1000):gsub('0?0$', '')
  return string.sub(template, 1, -#IN_SECONDS - 1) .. '}', time
end

-- What the payloads of a run have in common, made once in a call.
local function formOf(book, run)
  if book.form and book.form.run == run then return book.form end
  local template, time = timed(book.template)
  book.form = {
    run = run, head = opening(template) .. '"args":', jid = '"jid":"' .. book.id,
    tail = string.format('","hk_run":%d,"enqueued_at":%s}', run, time),
  }
  return book.form
end

-- The whole payload of a row: the same as completeRow in job/payload.ts.
local function complete(book, index, run, args)
  local form, place = formOf(book, run), string.format('%08x', index)
  if string.byte(args) == BRACE then return opening(args) .. form.jid .. place .. form.tail end
  return form.head .. args .. ',' .. form.jid .. place .. form.tail
end

-- The most bytes of the arguments of rows that are one job: the same as MOST_ROWS_BYTES in job/rows.ts.
local MOST_GROUPED = 1000000

-- The whole payload of rows that are one job, which gets them as a list: the same as completeRows in job/payload.ts.
local function completeGroup(book, group)
  local args = '[[' .. table.concat(group.values, ',') .. ']]'
  if #group.indexes > 1 then args = args .. ',"hk_rows":[' .. table.concat(group.indexes, ',') .. ']' end
  return complete(book, group.indexes[1], group.run, args)
end

-- Keeps beside the event what stood in the backlog of a row that will not come from there.
local function keepAside(book, event, args, source)
  local rows = KEYS[book.base + 2]
  redis.call('HSETNX', rows, 'a' .. event.index, args)
  if source ~= '' then redis.call('HSETNX', rows, 's' .. event.index, source) end
end

-- Looks at an entry that was taken out of the backlog. Gives nothing when it is dead; or its event (true: nothing but what
-- stands here has happened to it), its index, run and mark, text or arguments, source, and the index as it stands there.
local function living(book, entry)
  local index, run, mark, length, rest, place = readEntry(entry)
  if mark == '!' or mark == '@' then
    local event = eventOf(book, index)
    if event and event.place == HELD and event.status == 0 and event.run == run then
      return event, index, run, mark, rest, '', place
    end
    return
  end
  local args, source = splitRow(mark, length, rest)
  local event = book.events[index]
  if event == nil then
    local records, at = recordOf(book, index)
    local flags, itsRun = struct.unpack('<BI2', records, at)
    event = flags % 128 == 8 * NEW and itsRun == run or eventOf(book, index)
  end
  book.next = math.max(book.next, index + 1)
  if event == true or event.place == HELD and event.status == 0 and event.run == run then
    return event, index, run, '', args, source, place
  end
  if event.run == run and not isDropped(book, event.status) then keepAside(book, event, args, source) end
end

-- What stood in the backlog of a new row, for the rows.
local function keep(fields, place, args, source)
  fields[#fields + 1] = 'a' .. place
  fields[#fields + 1] = args
  if source ~= '' then
    fields[#fields + 1] = 's' .. place
    fields[#fields + 1] = source
  end
end

local function argsOf(book, index)
  return redis.call('HGET', KEYS[book.base + 2], 'a' .. index) or '[]'
end

-- Takes rows for `room` jobs of one row each. Gives their texts, how many rows they are, and fields to keep.
local function issueRows(book, room)
  local texts, fields, bytes = {}, {}, 0
  while #texts < room and bytes < MOST_BYTES do
    local entries = redis.call('LPOP', KEYS[book.base + 4], math.min(room - #texts, 100))
    if not entries then break end
    for _, entry in ipairs(entries) do
      local event, index, run, mark, job, source, place = living(book, entry)
      if event then
        if mark == '' then keep(fields, place, job, source) elseif mark == '@' then job = argsOf(book, index) end
        if mark ~= '!' then job = complete(book, index, run, job) end
        if event ~= true then
          event.place = PLACED
          touch(book, event)
        end
        texts[#texts + 1] = job
        bytes = bytes + #job
      end
    end
  end
  return texts, #texts, fields
end

-- The same where several rows are one job.
local function issueGroups(book, room)
  local texts, fields, bytes, rows, group = {}, {}, 0, 0, nil
  local most = book.rowsPerJob

  -- The first row has the place of all.
  local function close()
    if not group then return end
    texts[#texts + 1] = completeGroup(book, group)
    for i = 2, #group.indexes do
      local event = eventOf(book, group.indexes[i])
      event.place = ELSEWHERE
      touch(book, event)
    end
    group = nil
  end

  local function belongs(run, args)
    return group and #group.indexes < most and group.run == run and group.bytes + #args <= MOST_GROUPED
  end

  -- How many entries there is surely no more than room for. At its limits it fills what has begun.
  local function wanted()
    local left = group and most - #group.indexes or 0
    if bytes < MOST_BYTES and rows < MOST_ROWS then left = left + (room - #texts - (group and 1 or 0)) * most end
    return math.min(left, 100)
  end

  local function fits(entry)
    if #texts + (group and 1 or 0) < room then return true end
    local _, run, mark, _, rest = readEntry(entry)
    return (mark == '' or mark == ' ') and string.byte(rest) ~= BRACE and belongs(run, rest)
  end

  local function take(entry)
    local event, index, run, mark, job, source, place = living(book, entry)
    if not event then return end
    rows = rows + 1
    if mark == '' then keep(fields, place, job, source) elseif mark == '@' then job = argsOf(book, index) end
    if event ~= true then
      event.place = PLACED
      touch(book, event)
    end
    bytes = bytes + #job
    if mark ~= '!' and string.byte(job) ~= BRACE then
      if mark == '@' or not belongs(run, job) then
        close()
        group = { indexes = {}, values = {}, run = run, bytes = 0 }
      end
      group.indexes[#group.indexes + 1] = index
      group.values[#group.values + 1] = string.sub(job, 2, -2)
      group.bytes = group.bytes + #job
      -- One that is run again is alone.
      if mark == '@' then close() end
    else
      close()
      texts[#texts + 1] = mark == '!' and job or complete(book, index, run, job)
    end
  end

  local isFull = false
  while not isFull do
    local count = wanted()
    local entries = count > 0 and redis.call('LPOP', KEYS[book.base + 4], count)
    if not entries then break end
    for i, entry in ipairs(entries) do
      isFull = not fits(entry)
      if isFull then
        for j = #entries, i, -1 do redis.call('LPUSH', KEYS[book.base + 4], entries[j]) end
        break
      end
      take(entry)
    end
  end
  close()
  return texts, rows, fields
end

-- Lets as many jobs into the queue as there is room for.
local function refill(book)
  if book.state ~= 'open' or book.paused ~= '' then return end
  local room = math.min(book.window - book.placed, book.held, MOST_AT_ONCE)
  if room <= 0 then return end
  local issue = book.rowsPerJob > 0 and issueGroups or issueRows
  local texts, rows, fields = issue(book, room)
  if #texts == 0 then return end
  book.held = book.held - rows
  book.placed = book.placed + #texts
  each('HSET', KEYS[book.base + 2], fields)
  redis.call('SADD', QUEUES, book.queue)
  each('LPUSH', KEYS[book.base + 6], texts)
end

-- What stands in the backlog of a row that was never in the queue: its arguments and source; nil when it is not there.
local pages = {}
local PAGE = 50

local function isBefore(entry, index)
  local at, _, mark, total = readEntry(entry)
  if mark == '!' then return true end
  if mark == '@' then return total <= index end
  return at < index
end

local function waitingRow(book, index)
  local key = KEYS[book.base + 4]
  local page = pages[book.base]
  local function find()
    for i = page and page.at or 1, page and #page or 0 do
      local at, _, mark, length, rest = readEntry(page[i])
      if at == index and (mark == '' or mark == ' ') then
        page.at = i
        return { splitRow(mark, length, rest) }
      end
    end
  end
  local found = find()
  if not found then
    local low, high = 0, redis.call('LLEN', key)
    while low < high do
      local middle = math.floor((low + high) / 2)
      if isBefore(redis.call('LINDEX', key, middle), index) then low = middle + 1 else high = middle end
    end
    page = redis.call('LRANGE', key, low, low + PAGE - 1)
    pages[book.base] = page
    found = find()
  end
  if found then return found[1], found[2] end
end
