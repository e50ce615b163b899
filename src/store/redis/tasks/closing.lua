-- Closes the ledgers of a call: checks maxFailures, fills the window, changes states, pushes callbacks, and writes
-- all that has changed.

-- The progress of a task is written to the queue's tasks at most this often.
local SCORE_MS = 60000

local function header(ledger, ...)
  return redis.call('HMGET', KEYS[ledger.base], ...)
end

-- Begins to cancel: no further row comes into the queue, and running rows end as they do.
local function stop(ledger, reason)
  ledger.state, ledger.producers, ledger.paused, ledger.broken = 'cancelling', '', '', ''
  redis.call('HSET', KEYS[ledger.base], 'reason', reason, 'sweep', 0)
end

-- Pauses or cancels a task that has exceeded maxFailures. `isAtEnd`: adding has just ended, so the total is final.
-- Retries add no rows.
local function checkMaxFailures(ledger, isAtEnd)
  if ledger.state ~= 'open' or ledger.paused ~= '' then return end
  local fields = header(ledger, 'maxFailures', 'onMaxFailures')
  local kind, most = string.match(fields[1] or '', '^([rp])(.*)$')
  if not kind then return end
  local n = ledger.n
  local rejected = n[3] + n[4]
  local ended = n[2] + rejected + n[5]
  most = tonumber(most)
  local isBeyond, of = ledger.rejectedRuns and rejected > most, ended
  if kind == 'p' then
    if ended < 100 then of = ledger.total end
    isBeyond = (ended >= 100 or isAtEnd) and rejected * 100 > most * of
  end
  if not isBeyond then return end
  local reason = string.format('{"at":%d,"code":"too-many-failures","params":{"rejected":%d,"ended":%d}}', now, rejected, of)
  if fields[2] == 'cancel' then return stop(ledger, reason) end
  ledger.paused = '1'
  redis.call('HSET', KEYS[ledger.base], 'reason', reason)
end

-- Pushes a callback job, once in each run. `which` is done or failure. Does nothing when a later run had a rejected
-- row first.
local function announce(ledger, which, run)
  local fields = header(ledger, which .. 'Template', which .. 'Queue', which .. 'Run')
  if not fields[1] or tonumber(fields[3] or 0) >= run then return end
  redis.call('HSET', KEYS[ledger.base], which .. 'Run', run)
  local template, time = timed(fields[1])
  local suffix = which == 'done' and 'ff' or 'fe'
  local rest = '"args":["%s",%d],"jid":"%s%s%06x","enqueued_at":%s}'
  local job = opening(template) .. string.format(rest, ledger.id, run, ledger.id, suffix, run, time)
  addName(fields[2])
  redis.call('LPUSH', KEYS[ledger.base + (which == 'done' and 9 or 10)], job)
end

local function announceFailures(ledger)
  if not ledger.rejectedRuns then return end
  local runs = {}
  for run in pairs(ledger.rejectedRuns) do runs[#runs + 1] = run end
  table.sort(runs)
  for _, run in ipairs(runs) do announce(ledger, 'failure', run) end
end

local function moveOn(ledger)
  local open = ledger.n[0] + ledger.n[1]
  if ledger.state == 'cancelling' and open == 0 then
    ledger.state, ledger.finishedAt = 'cancelled', now
    announce(ledger, 'done', ledger.run)
  elseif ledger.state == 'open' and open == 0 and ledger.producers == '' and ledger.broken == '' then
    -- The task is done, so the pause ends. The reason stays if too many rows were rejected.
    if ledger.paused ~= '' and not string.find(header(ledger, 'reason')[1] or '', '"code":"too-many-failures"', 1, true) then
      redis.call('HSET', KEYS[ledger.base], 'reason', '')
    end
    ledger.state, ledger.paused, ledger.finishedAt = 'done', '', now
    announce(ledger, 'done', ledger.run)
  elseif ledger.state == 'done' and open > 0 then
    ledger.state, ledger.finishedAt = 'open', ''
  end
end

-- Updates the task's score among the tasks of its queue.
local function updateScore(ledger)
  local score
  if ledger.state == 'done' or ledger.state == 'cancelled' then
    if ledger.state == ledger.stored[1] then return end
    local kept = tonumber(header(ledger, 'keep')[1] or 2592000000)
    score = -(now + kept)
  elseif ledger.state == 'cancelling' then
    score = 0
  else
    -- A task without progress keeps its first score.
    score = tonumber(ledger.progressAt) or math.max(ledger.score, ledger.createdAt)
    if ledger.state == ledger.stored[1] and math.abs(score - ledger.score) < SCORE_MS then return end
  end
  if score == ledger.score then return end
  ledger.score = score
  redis.call('ZADD', KEYS[ledger.base + 8], string.format('%d', score), ledger.id)
end

-- Writes the records of consecutive rows with one command.
local function saveRecords(ledger)
  local order, written, records, first = ledger.order, ledger.written, {}, nil
  for i, index in ipairs(order) do
    first = first or index
    records[#records + 1] = written[index]
    if order[i + 1] ~= index + 1 then
      redis.call('SETRANGE', KEYS[ledger.base + 1], first * SIZE, table.concat(records))
      records, first = {}, nil
    end
  end
end

local function saveEvents(ledger)
  local rows, rejected = KEYS[ledger.base + 2], KEYS[ledger.base + 3]
  for _, event in ipairs(ledger.changed) do
    if event.drop then
      ledger.dropped[#ledger.dropped + 1] = 'a' .. event.index
      if event.source == 1 then ledger.dropped[#ledger.dropped + 1] = 's' .. event.index end
      event.source = 0
    end
    write(ledger, event.index, packed(event))
    if event.status >= UNSUCCESSFUL then
      if event.group then redis.call('ZADD', rejected, scoreOf(ledger, event), event.index) end
    elseif event.before >= UNSUCCESSFUL then
      redis.call('ZREM', rejected, event.index)
    end
  end
  saveRecords(ledger)
  each('HDEL', rows, ledger.dropped)
  each('HSET', rows, ledger.kept)
end

local function saveHeader(ledger)
  local fields = {}
  for i, name in ipairs(FIELDS) do
    local value, stored = nil, ledger.stored[i]
    if i > NUMBERS then value = ledger.n[i - NUMBERS - 1] else value = ledger[name] end
    if type(value) == 'number' then stored = tonumber(stored or 0) else stored = stored or '' end
    if value ~= stored then
      fields[#fields + 1] = name
      fields[#fields + 1] = value
    end
    if name == 'backlog' and value ~= stored then redis.call('INCRBY', KEYS[ledger.base + 7], value - stored) end
  end
  each('HSET', KEYS[ledger.base], fields)
end

local function closeLedger(ledger)
  if ledger.rejectedRuns then checkMaxFailures(ledger) end
  refill(ledger)
  announceFailures(ledger)
  moveOn(ledger)
  saveEvents(ledger)
  updateScore(ledger)
  saveHeader(ledger)
end

-- With `report`, a ledger that can't be closed because its header is damaged is reported, and the others are still
-- closed.
local function closeLedgers(report)
  for _, ledger in ipairs(opened) do
    if report then
      local ok, err = pcall(closeLedger, ledger)
      if not ok then report(KEYS[ledger.base] .. ': ' .. messageOf(err)) end
    else
      closeLedger(ledger)
    end
  end
  ledgers, opened = {}, {}
end
