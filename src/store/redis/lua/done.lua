-- Rows of one task that are done alike: in the same run and attempt, and with nothing to say of them.
--
-- In ARGV: base of the task (ledger.lua), run, attempt; then as one JSON list, of each row: index as text (which is what its
-- fields are named by), at, startedAt or 0.

local FINISHED = 2

local function readDone()
  local group = { base = number(), run = number(), attempt = number(), rows = cjson.decode(text()) }
  group.step = group.attempt * 2 + 1
  group.effect = {
    base = group.base, run = group.run, attempt = group.attempt, status = FINISHED, place = 'leave', code = '', result = '',
    messages = {},
  }
  return group
end

-- Answers whether the ticket was there (o) or gone (g), and then nothing has changed. All is looked at before the ticket
-- goes: it throws before, or not at all, so that nobody need put the job back.
local function endRow(book, group, i, working, ticket)
  local name, at, startedAt = group.rows[i * 3 - 2], group.rows[i * 3 - 1], group.rows[i * 3]
  local index = tonumber(name)
  local finished = book and since(book, at)
  local records, place
  if book and book.events[index] == nil then records, place = recordOf(book, index) end
  if records then
    -- Most rows were never anywhere but in the queue and with an owner, and all that is known of them is their record. To
    -- make an event of each would take most of a turn's time: the record is rewritten to what `change` makes of it.
    local flags, run, step, started, _, row = struct.unpack(RECORD, records, place)
    local source = flags >= 128 and 128 or 0
    local status = flags % 8
    local where = flags - source - status
    local isPlaced = where == 8 * PLACED or where == 8 * NEW and index < book.next
    if isPlaced and status <= 1 and run == group.run and step < group.step then
      if startedAt > 0 then started = since(book, startedAt) end
      if redis.call('HDEL', working, ticket) == 0 then return 'g' end
      if isDropped(book, FINISHED) then
        local dropped = book.dropped
        dropped[#dropped + 1] = 'a' .. name
        if source > 0 then dropped[#dropped + 1] = 's' .. name end
        source = 0
      end
      flags = FINISHED + 8 * ELSEWHERE + source
      write(book, index, struct.pack(RECORD, flags, run, group.step, started, finished, row))
      book.placed = book.placed - 1
      book.n[status] = book.n[status] - 1
      book.n[FINISHED] = book.n[FINISHED] + 1
      book.progress = now
      return 'o'
    end
  end
  if book then eventOf(book, index) end
  if redis.call('HDEL', working, ticket) == 0 then return 'g' end
  local effect = group.effect
  effect.index, effect.at, effect.startedAt = index, at, startedAt > 0 and startedAt or nil
  change(effect)
  return 'o'
end
