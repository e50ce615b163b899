-- Settles rows of one task that finished in the same run and attempt, without messages.
--
-- In ARGV stand the base of the task (ledger.lua), run, attempt; then one JSON list with three values for each row:
-- index as text (it names the fields of the row), at, startedAt or 0.

local FINISHED = 2

local function readDone()
  local group = { base = number(), run = number(), attempt = number(), rows = cjson.decode(text()) }
  group.step = group.attempt * 2 + 1
  group.effect = {
    base = group.base, run = group.run, attempt = group.attempt, status = FINISHED, window = 'leave', code = '', result = '',
    messages = {},
  }
  return group
end

-- Returns o, or g when the ticket is gone, and then nothing has changed. It throws only before the ticket is removed,
-- so that no caller need put the job back.
local function endRow(ledger, group, i, working, ticket)
  local name, at, startedAt = group.rows[i * 3 - 2], group.rows[i * 3 - 1], group.rows[i * 3]
  local index = tonumber(name)
  local finished = ledger and since(ledger, at)
  local records, offset
  if ledger and ledger.events[index] == nil then records, offset = recordOf(ledger, index) end
  if records then
    -- Most rows were only in the queue and with an owner, and have nothing but their record. Making an event of each
    -- would take most of the time of the script, so the record is rewritten to what `change` would make of it.
    local flags, run, step, started, _, row = struct.unpack(RECORD, records, offset)
    local source = flags >= 128 and 128 or 0
    local status = flags % 8
    local location = flags - source - status
    local isInWindow = location == 8 * WINDOW or location == 8 * UNTOUCHED and index < ledger.next
    if isInWindow and status <= 1 and run == group.run and step < group.step then
      if startedAt > 0 then started = since(ledger, startedAt) end
      if redis.call('HDEL', working, ticket) == 0 then return 'g' end
      if isDropped(ledger, FINISHED) then
        local dropped = ledger.dropped
        dropped[#dropped + 1] = 'a' .. name
        if source > 0 then dropped[#dropped + 1] = 's' .. name end
        source = 0
      end
      flags = FINISHED + 8 * ELSEWHERE + source
      write(ledger, index, struct.pack(RECORD, flags, run, group.step, started, finished, row))
      ledger.inWindow = ledger.inWindow - 1
      ledger.n[status] = ledger.n[status] - 1
      ledger.n[FINISHED] = ledger.n[FINISHED] + 1
      ledger.progressAt = now
      return 'o'
    end
  end
  if ledger then eventOf(ledger, index) end
  if redis.call('HDEL', working, ticket) == 0 then return 'g' end
  local effect = group.effect
  effect.index, effect.at, effect.startedAt = index, at, startedAt > 0 and startedAt or nil
  change(effect)
  return 'o'
end
