-- Puts rejected rows into the backlog again, for run `run` of an open task. KEYS 14 is the dead set. ARGV continue with the
-- number of rows; of each: index, arguments or "", source or "", score and text of its dead entry or "".
-- Returns the answers, one letter each (o ok, g gone, d dropped), and a function that writes the rows: false when no row is
-- new in the run. The caller calls closeLedgers after it.
local function putBack(ledger, run)
  local answers, entries, fields, deadEntries, cursors = {}, {}, {}, {}, {}
  for i = 1, number() do
    local index, args, source, score, dead = number(), text(), text(), text(), text()
    local event, isCorrected = ledger and eventOf(ledger, index), args ~= ''
    if event and event.run == run then
      -- A repeated call: the row is in this run already.
      answers[i] = 'o'
    elseif not event or event.status < UNSUCCESSFUL then
      answers[i] = 'g'
    else
      local has = redis.call('HEXISTS', KEYS[3], 'a' .. index) == 1
      if not has and not isDropped(ledger, event.status) then
        -- The row ended in the backlog, and its entry was not read since.
        local waiting, beside = backlogRow(ledger, index)
        if args == '' then args = waiting or '' end
        if source == '' then source = beside or '' end
      end
      has = has or args ~= ''
      answers[i] = has and 'o' or 'd'
      if has then
        leave(ledger, event)
        become(ledger, event, 0, '')
        event.result = note(ledger, event, 'r', event.result, '')
        event.run, event.step, event.started, event.finished, event.location = run, 1, 0, 0, BACKLOG
        ledger.backlog = ledger.backlog + 1
        entries[#entries + 1] = entryOf(index, run, '@' .. ledger.total, '')
        addField(fields, 'a', index, args)
        addField(fields, 's', index, source)
        if source ~= '' then event.source = 1 end
        if isCorrected then cursors[#cursors + 1] = 'k' .. index end
        if dead ~= '' then deadEntries[#deadEntries + 1] = { dead, tonumber(score) } end
      end
    end
  end
  local function write()
    each('RPUSH', KEYS[5], entries)
    each('HSET', KEYS[3], fields)
    each('HDEL', KEYS[3], cursors)
    redis.call('HINCRBY', KEYS[1], 'endedBefore', -#entries)
    for _, one in ipairs(deadEntries) do
      if tonumber(redis.call('ZSCORE', KEYS[14], one[1]) or 'nan') == one[2] then redis.call('ZREM', KEYS[14], one[1]) end
    end
  end
  return answers, #entries > 0 and write
end
