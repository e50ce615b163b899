-- Settles rows of one task that finished in the same run and attempt, without messages.
--
-- ARGV: the base of the task (ledger.lua), run, attempt; the tickets as `removeTickets` reads them; then a JSON list with four
-- values for rows with consecutive indexes and the same times: at, startedAt or 0, first index, number of rows.

local FINISHED = 2

local function readGroup()
  return { base = number(), run = number(), attempt = number(), tickets = text(), rows = cjson.decode(text()) }
end

-- Most rows were only in the queue and with an owner, and have nothing but their record. Making an event of each would take
-- most of the time of the script, so the record is rewritten to what `change` would make of it. A row that
-- `change` can't change, because another program damaged its record, is reported and left as it is; it stops no other row. Its
-- job is gone, so task maintenance ends it: as `lost` if the row is `working`, else as `ran-elsewhere`.
local function finishRows(ledger, group)
  local step = group.attempt * 2 + 1
  local effect = {
    base = group.base, run = group.run, attempt = group.attempt, status = FINISHED, window = 'leave', code = '', result = '',
    messages = {},
  }
  local isDropping, dropped, n = isDropped(ledger, FINISHED), ledger.dropped, ledger.n
  local argsOfRow, sourceOfRow = writer('a%d'), writer('s%d')
  -- By the first byte of a record: the status; whether the row is UNTOUCHED; the record up to the times, rewritten. False
  -- when the row needs an event.
  local kinds = {}
  local function kindOf(flags)
    local source = flags >= 128 and 128 or 0
    local status = flags % 8
    local location = (flags - source - status) / 8
    if status > 1 or location ~= WINDOW and location ~= UNTOUCHED then return false end
    local kept = isDropping and 0 or source
    local head = struct.pack('<BI2I3', FINISHED + 8 * ELSEWHERE + kept, group.run, step)
    return { status = status, isUntouched = location == UNTOUCHED, head = head, dropsSource = kept ~= source }
  end
  -- By run and step of a record: whether this attempt comes later.
  local isLater = {}
  local function comesLater(bytes)
    local run, before = struct.unpack('<I2I3', bytes)
    return run == group.run and before < step
  end

  local function countFinished(status, count)
    n[status] = n[status] - count
    n[FINISHED] = n[FINISHED] + count
    ledger.inWindow = ledger.inWindow - count
    ledger.progressAt = now
  end

  local function finishRow(index, at, startedAt, started, finished)
    local records, offset
    if ledger.events[index] == nil then records, offset = recordOf(ledger, index) end
    if records then
      local flags, place = string.byte(records, offset), string.sub(records, offset + 1, offset + 5)
      if kinds[flags] == nil then kinds[flags] = kindOf(flags) end
      if isLater[place] == nil then isLater[place] = comesLater(place) end
      local kind = kinds[flags]
      if kind and isLater[place] and (not kind.isUntouched or index < ledger.next) then
        if isDropping then dropped[#dropped + 1] = argsOfRow(index) end
        if kind.dropsSource then dropped[#dropped + 1] = sourceOfRow(index) end
        started = started or string.sub(records, offset + 6, offset + 10)
        write(ledger, index, kind.head .. started .. finished .. string.sub(records, offset + 16, offset + 19))
        countFinished(kind.status, 1)
        return
      end
    end
    effect.index, effect.at, effect.startedAt = index, at, startedAt > 0 and startedAt or nil
    local isChanged, problem = pcall(change, effect)
    if not isChanged then report(messageOf(problem)) end
  end

  -- Rewrites rows with the same record at once. Returns false when they differ, or need more than that.
  local function finishAlike(first, count, started, finished)
    local key = KEYS[ledger.base + 1]
    local records = redis.call('GETRANGE', key, first * SIZE, (first + count) * SIZE - 1)
    local record = string.sub(records, 1, SIZE)
    if #records == 0 or records ~= string.rep(record, count) or not comesLater(string.sub(record, 2, 6)) then return false end
    local kind = kindOf(string.byte(record))
    if not kind or kind.dropsSource or kind.isUntouched and first + count > ledger.next then return false end
    started = started or string.sub(record, 7, 11)
    redis.call('SETRANGE', key, first * SIZE, string.rep(kind.head .. started .. finished .. string.sub(record, 17), count))
    ledger.records = ''
    if isDropping then
      for index = first, first + count - 1 do dropped[#dropped + 1] = argsOfRow(index) end
    end
    countFinished(kind.status, count)
    return true
  end

  local rows = group.rows
  -- As long as no other change of this call waits to be written.
  local isFirst = #ledger.order == 0 and next(ledger.events) == nil
  for i = 1, #rows, 4 do
    local at, startedAt, first, count = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
    local started = startedAt > 0 and struct.pack('<I5', since(ledger, startedAt))
    local finished = struct.pack('<I5', since(ledger, at))
    if not (isFirst and count > 1 and finishAlike(first, count, started, finished)) then
      isFirst = false
      for index = first, first + count - 1 do finishRow(index, at, startedAt, started, finished) end
    end
  end
end
