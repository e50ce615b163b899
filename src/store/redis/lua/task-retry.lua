-- Puts rejected rows back to work, and takes their entries out of the dead set.
--
-- KEYS  1 to 11 the task (ledger.lua), 12 queues, 13 the dead set.
-- ARGV  now (ms), run, number of rows; of each: index, args or "", source or "", score and text of its dead entry or "".
-- Gives answers as one text: o ok, g gone, d dropped.
-- include: arguments ledger waiting closing

QUEUES = KEYS[12]
now = number()
local run, count = number(), number()
local key = wrongTask(1) or wrong(KEYS[13], 'zset') and KEYS[13]
if key then return redis.error_reply(unusable(key)) end

local book = bookOf(1)
local isOpen = book and book.run == run and (book.state == 'open' or book.state == 'done')
local answers, entries, fields, buried, rows = {}, {}, {}, {}, {}
for i = 1, count do
  local index, args, source, score, dead = number(), text(), text(), text(), text()
  local event = isOpen and eventOf(book, index)
  if event and event.run == run then
    -- A repeated call: it is in this run already.
    answers[i] = 'o'
  elseif not event or event.status < REJECTED then
    answers[i] = 'g'
  else
    local has = redis.call('HEXISTS', KEYS[3], 'a' .. index) == 1
    if not has and not isDropped(book, event.status) then
      -- It was ended while it waited, and nobody has come by there since.
      local waiting, beside = waitingRow(book, index)
      if args == '' then args = waiting or '' end
      if source == '' then source = beside or '' end
    end
    has = has or args ~= ''
    answers[i] = has and 'o' or 'd'
    if has then
      leave(book, event)
      become(book, event, 0, '')
      event.result = note(book, event, 'r', event.result, '')
      event.run, event.step, event.started, event.finished, event.place = run, 1, 0, 0, HELD
      book.held = book.held + 1
      entries[#entries + 1] = entryOf(index, run, '@' .. book.total, '')
      for letter, value in pairs({ a = args, s = source }) do
        if value ~= '' then
          fields[#fields + 1] = letter .. index
          fields[#fields + 1] = value
        end
      end
      if source ~= '' then event.source = 1 end
      if dead ~= '' then buried[#buried + 1] = { dead, tonumber(score) } end
    end
  end
end
if #entries > 0 then
  -- The first write may grow: at its memory limit the server refuses it, and nothing was done.
  each('RPUSH', KEYS[5], entries)
  each('HSET', KEYS[3], fields)
  redis.call('HINCRBY', KEYS[1], 'before', -#entries)
  for _, one in ipairs(buried) do
    if tonumber(redis.call('ZSCORE', KEYS[13], one[1]) or 'nan') == one[2] then redis.call('ZREM', KEYS[13], one[1]) end
  end
  closeBooks()
end
return table.concat(answers)
