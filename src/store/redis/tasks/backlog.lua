-- The rows of a task that are not in the queue yet.
--
-- An entry of the backlog is a line, and behind it what is needed to make the job. For a new row that is its
-- arguments, and behind them its source. For a job that came back it is the whole text, and the line ends with "!".
-- For a retried row it is nothing, because its arguments are in the rows, and the line ends with "@" and the number
-- of rows that the task had at that time. The line begins with the index; then come ":" and the run, unless that is
-- 1; then "!", "@", or " " and the length of the arguments if a source follows.
--
-- Jobs that came back are first; then come the others in the order in which they were added. An entry is dead when
-- its event is not in the backlog any more, or is in another run.

local MOST_AT_ONCE = 1000
local MOST_BYTES = 1000000
-- The most rows in one call when several rows are one job.
local MOST_ROWS = 10000

local function entryOf(index, run, kind, rest)
  return index .. (run > 1 and ':' .. run or '') .. kind .. '\n' .. rest
end

local function newEntry(index, run, args, source)
  if source == '' then return entryOf(index, run, '', args) end
  return entryOf(index, run, ' ' .. #args, args .. source)
end

-- Returns index, run, kind ("" of a new row), the number behind the kind, text; and the index as text.
local function readEntry(entry)
  local indexText, from = string.match(entry, '^(%d+)\n()')
  if indexText then return tonumber(indexText), 1, '', nil, string.sub(entry, from), indexText end
  local run, kind, number
  indexText, run, kind, number, from = string.match(entry, '^(%d+):?(%d*)([!@ ]?)(%d*)\n()')
  return tonumber(indexText), tonumber(run) or 1, kind, tonumber(number), string.sub(entry, from), indexText
end

-- Returns the arguments of a new row, and its source.
local function splitRow(kind, length, rest)
  if kind ~= ' ' then return rest, '' end
  return string.sub(rest, 1, length), string.sub(rest, length + 1)
end

-- Returns whether a job may go into the queue. Otherwise its task has kept it in the backlog.
local function enter(effect, job)
  local ledger = ledgerOf(effect.base)
  local event = ledger and eventOf(ledger, effect.index)
  if not event or event.location == WINDOW then return true end
  if event.location == BACKLOG then return false end
  local room = ledger.inWindow < ledger.window and ledger.paused == '' and ledger.moving == ''
  if room then
    ledger.inWindow = ledger.inWindow + 1
  else
    redis.call('LPUSH', KEYS[ledger.base + 4], entryOf(event.index, event.run, '!', job))
    ledger.backlog = ledger.backlog + 1
  end
  event.location = room and WINDOW or BACKLOG
  touch(ledger, event)
  return room
end

local function opening(object)
  return object == '{}' and '{' or string.sub(object, 1, -2) .. ','
end

local BRACE = string.byte('{')

-- A template with this end wants times in seconds.
local IN_SECONDS = ',"enqueued_at":0.0}'

-- Returns the template without its time, and the time in the unit of the template.
local function timed(template)
  if string.sub(template, -#IN_SECONDS) ~= IN_SECONDS then return template, string.format('%d', now) end
  local time = string.format('%d.%03d', math.floor(now / 1000), now % 1000):gsub('0?0$', '')
  return string.sub(template, 1, -#IN_SECONDS - 1) .. '}', time
end

-- Returns what the payloads of a run have in common, made once in a call.
local function formOf(ledger, run)
  if ledger.form and ledger.form.run == run then return ledger.form end
  local template, time = timed(ledger.template)
  ledger.form = {
    run = run, head = opening(template) .. '"args":', jid = '"jid":"' .. ledger.id,
    tail = string.format('","hk_run":%d,"enqueued_at":%s}', run, time),
  }
  return ledger.form
end

-- Returns the whole payload of a row, like completeRow in job/payload.ts.
local function complete(ledger, index, run, args)
  local form, indexText = formOf(ledger, run), string.format('%08x', index)
  if string.byte(args) == BRACE then return opening(args) .. form.jid .. indexText .. form.tail end
  return form.head .. args .. ',' .. form.jid .. indexText .. form.tail
end

-- The most bytes of arguments of rows that are one job, like MOST_ROWS_BYTES in job/rows.ts.
local MOST_GROUPED = 1000000

-- Returns the whole payload of rows that are one job, which gets them as a list, like completeRows in job/payload.ts.
local function completeGroup(ledger, group)
  local args = '[[' .. table.concat(group.values, ',') .. ']]'
  if #group.indexes > 1 then args = args .. ',"hk_rows":[' .. table.concat(group.indexes, ',') .. ']' end
  return complete(ledger, group.indexes[1], group.run, args)
end

-- Keeps arguments and source of a row beside its event, because its backlog entry is gone.
local function keepAside(ledger, event, args, source)
  local rows = KEYS[ledger.base + 2]
  redis.call('HSETNX', rows, 'a' .. event.index, args)
  if source ~= '' then redis.call('HSETNX', rows, 's' .. event.index, source) end
end

-- Reads an entry that was removed from the backlog. Returns nothing when it is dead; otherwise its event (true:
-- nothing has happened to it since it was added), its index, run and kind, text or arguments, source, and the index
-- as text.
local function resolveEntry(ledger, entry)
  local index, run, kind, length, rest, indexText = readEntry(entry)
  if kind == '!' or kind == '@' then
    local event = eventOf(ledger, index)
    if event and event.location == BACKLOG and event.status == 0 and event.run == run then
      return event, index, run, kind, rest, '', indexText
    end
    return
  end
  local args, source = splitRow(kind, length, rest)
  local event = ledger.events[index]
  if event == nil then
    local records, at = recordOf(ledger, index)
    local flags, low, high = string.byte(records, at, at + 2)
    event = flags % 128 == 8 * UNTOUCHED and low + 256 * high == run or eventOf(ledger, index)
  end
  ledger.next = math.max(ledger.next, index + 1)
  if event == true or event.location == BACKLOG and event.status == 0 and event.run == run then
    return event, index, run, '', args, source, indexText
  end
  if event.run == run and not isDropped(ledger, event.status) then keepAside(ledger, event, args, source) end
end

-- Collects the fields that keep arguments and source of a new row.
local function keep(fields, indexText, args, source)
  addField(fields, 'a', indexText, args)
  addField(fields, 's', indexText, source)
end

local function argsOf(ledger, index)
  return redis.call('HGET', KEYS[ledger.base + 2], 'a' .. index) or '[]'
end

-- Issues `room` jobs of one row each. Returns their texts, the number of rows, and fields to keep.
local function issueRows(ledger, room)
  local texts, fields, bytes = {}, {}, 0
  while #texts < room and bytes < MOST_BYTES do
    local entries = redis.call('LPOP', KEYS[ledger.base + 4], math.min(room - #texts, 100))
    if not entries then break end
    for _, entry in ipairs(entries) do
      local event, index, run, kind, job, source, indexText = resolveEntry(ledger, entry)
      if event then
        if kind == '' then keep(fields, indexText, job, source) elseif kind == '@' then job = argsOf(ledger, index) end
        if kind ~= '!' then job = complete(ledger, index, run, job) end
        if event ~= true then
          event.location = WINDOW
          touch(ledger, event)
        end
        texts[#texts + 1] = job
        bytes = bytes + #job
      end
    end
  end
  return texts, #texts, fields
end

-- Issues `room` jobs of several rows each. Returns the same.
local function issueGroups(ledger, room)
  local texts, fields, bytes, rows, group = {}, {}, 0, 0, nil
  local most = ledger.rowsPerJob

  -- Only the first row is in the window.
  local function close()
    if not group then return end
    texts[#texts + 1] = completeGroup(ledger, group)
    for i = 2, #group.indexes do
      local event = eventOf(ledger, group.indexes[i])
      event.location = ELSEWHERE
      touch(ledger, event)
    end
    group = nil
  end

  local function belongs(run, args)
    return group and #group.indexes < most and group.run == run and group.bytes + #args <= MOST_GROUPED
  end

  -- Returns a number of entries for which there certainly is room. At the limits of a call it only fills the open
  -- group.
  local function wanted()
    local left = group and most - #group.indexes or 0
    if bytes < MOST_BYTES and rows < MOST_ROWS then left = left + (room - #texts - (group and 1 or 0)) * most end
    return math.min(left, 100)
  end

  local function fits(entry)
    if #texts + (group and 1 or 0) < room then return true end
    local _, run, kind, _, rest = readEntry(entry)
    return (kind == '' or kind == ' ') and string.byte(rest) ~= BRACE and belongs(run, rest)
  end

  local function addEntry(entry)
    local event, index, run, kind, job, source, indexText = resolveEntry(ledger, entry)
    if not event then return end
    rows = rows + 1
    if kind == '' then keep(fields, indexText, job, source) elseif kind == '@' then job = argsOf(ledger, index) end
    if event ~= true then
      event.location = WINDOW
      touch(ledger, event)
    end
    bytes = bytes + #job
    if kind ~= '!' and string.byte(job) ~= BRACE then
      if kind == '@' or not belongs(run, job) then
        close()
        group = { indexes = {}, values = {}, run = run, bytes = 0 }
      end
      group.indexes[#group.indexes + 1] = index
      group.values[#group.values + 1] = string.sub(job, 2, -2)
      group.bytes = group.bytes + #job
      -- A retried row is a job of its own.
      if kind == '@' then close() end
    else
      close()
      texts[#texts + 1] = kind == '!' and job or complete(ledger, index, run, job)
    end
  end

  local isFull = false
  while not isFull do
    local count = wanted()
    local entries = count > 0 and redis.call('LPOP', KEYS[ledger.base + 4], count)
    if not entries then break end
    for i, entry in ipairs(entries) do
      isFull = not fits(entry)
      if isFull then
        for j = #entries, i, -1 do redis.call('LPUSH', KEYS[ledger.base + 4], entries[j]) end
        break
      end
      addEntry(entry)
    end
  end
  close()
  return texts, rows, fields
end

-- Moves as many jobs into the queue as the window has room for.
local function refill(ledger)
  if ledger.state ~= 'open' or ledger.paused ~= '' or ledger.moving ~= '' then return end
  local room = math.min(ledger.window - ledger.inWindow, ledger.backlog, MOST_AT_ONCE)
  if room <= 0 then return end
  local issue = ledger.rowsPerJob > 0 and issueGroups or issueRows
  local texts, rows, fields = issue(ledger, room)
  if #texts == 0 then return end
  ledger.backlog = ledger.backlog - rows
  ledger.inWindow = ledger.inWindow + #texts
  each('HSET', KEYS[ledger.base + 2], fields)
  addName(ledger.queue)
  each('LPUSH', KEYS[ledger.base + 6], texts)
end

-- Returns arguments and source of a row that was never in the queue; nothing when it is not in the backlog.
local pages = {}
local PAGE = 50

local function isBefore(entry, index)
  local at, _, kind, total = readEntry(entry)
  if kind == '!' then return true end
  if kind == '@' then return total <= index end
  return at < index
end

local function backlogRow(ledger, index)
  local key = KEYS[ledger.base + 4]
  local page = pages[ledger.base]
  local function find()
    for i = page and page.at or 1, page and #page or 0 do
      local at, _, kind, length, rest = readEntry(page[i])
      if at == index and (kind == '' or kind == ' ') then
        page.at = i
        return { splitRow(kind, length, rest) }
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
    pages[ledger.base] = page
    found = find()
  end
  if found then return found[1], found[2] end
end
