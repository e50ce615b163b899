-- The common functions of the scripts of a worker's step. All check the lease before they write. A key of the wrong type is found
-- when a command on it fails, so a sound key costs no TYPE command.

-- Seconds: statistics of a day are kept for five years.
local DAY_SECONDS = 157680000
-- One command fetches at most this many jobs.
local MAX_FETCHED = 50

-- Runs a command. Reports a key of the wrong type and returns false. Any other error ends the script, because the server
-- refuses to work: the command runs again to raise that error as it is.
local function run(command, key, ...)
  local answer = redis.pcall(command, key, ...)
  if type(answer) ~= 'table' or not answer.err then return answer end
  if not string.find(answer.err, 'WRONGTYPE', 1, true) then redis.call(command, key, ...) end
  report(unusable(key))
  return false
end

local ticketText = writer('%d')

-- Removes tickets from the fetched jobs: single ones, and ranges such as 7-9, with commas. Returns how many there were,
-- and how many were missing, or e when the key has the wrong type.
local function removeTickets(working, ranges)
  if ranges == '' then return 0, 0 end
  local tickets = {}
  for first, last in string.gmatch(ranges, '(%d+)%-?(%d*)') do
    tickets[#tickets + 1] = first
    for n = first + 1, tonumber(last) or 0 do tickets[#tickets + 1] = ticketText(n) end
  end
  local removed = run('HDEL', working, unpack(tickets))
  if not removed then return 0, 'e' end
  return removed, #tickets - removed
end

-- Reads the number of the first key of packs of finished jobs (finished-packs.lua; 0: no job is kept), and of each queue with jobs
-- to keep its number and their pack. The functions are fields, because a script can't have more than 200 local variables.
local function readPacks()
  local first, ofQueues = number(), {}
  local key = first > 0 and (wrong(KEYS[first], 'stream') or wrong(KEYS[first + 1], 'string'))
  if key then report(unusable(key)) end
  local packs = { areUnusable = key }

  function packs.read() return { size = text(), time = text(), scores = text(), texts = text(), members = text() } end

  -- Adds a pack behind the others. A problem must not end a script that has removed jobs.
  function packs.add(pack)
    local function add(newest)
      return redis.pcall('XADD', KEYS[first], string.format('%.0f-%s', newest, pack.time),
        'n', pack.size, 's', pack.scores, 't', pack.texts, 'm', pack.members)
    end
    local newest = redis.pcall('INCRBY', KEYS[first + 1], pack.size)
    if type(newest) == 'number' and newest > tonumber(pack.size) and type(add(newest)) == 'string' then return end
    -- The counter is new, was deleted, or holds no number.
    local last = redis.call('XREVRANGE', KEYS[first], '+', '-', 'COUNT', 1)[1]
    newest = (last and tonumber(string.match(last[1], '^%d+')) or 0) + pack.size
    redis.call('SET', KEYS[first + 1], string.format('%.0f', newest))
    local added = add(newest)
    if type(added) ~= 'string' then report(KEYS[first] .. ': ' .. added.err) end
  end

  -- Removes the tickets of the jobs of a queue that are done, and adds the pack of those that are kept. Returns what
  -- `removeTickets` returns.
  function packs.settle(queue, working, tickets)
    local pack = ofQueues[queue]
    if pack and key then return 0, 'e' end
    local removed, missing = removeTickets(working, tickets)
    -- Behind a removal a server at its memory limit allows the pack.
    if pack and missing ~= 'e' then packs.add(pack) end
    return removed, missing
  end

  for _ = 1, first > 0 and number() or 0 do ofQueues[number()] = packs.read() end
  return packs
end

-- Returns whether the owner has its lease. Ends the script with an error when the key has the wrong type.
local function holdsLease(leases, owner)
  local stamp = run('ZSCORE', leases, owner)
  if problems[1] then error(problems[1], 0) end
  return stamp and tonumber(stamp) >= 0
end

local function addToCounters(total, day, n)
  if n == 0 then return end
  for _, key in ipairs({ total, day }) do
    local sum = redis.pcall('INCRBY', key, n)
    if type(sum) == 'table' then
      report(key .. ' does not count: ' .. sum.err)
    elseif key == day and sum == n then
      redis.call('EXPIRE', key, DAY_SECONDS)
    end
  end
end

-- Adds jobs of a list to the fetched jobs, under consecutive tickets. Returns false when their key has the wrong type: then
-- the jobs are in the list as before.
local function addToFetched(list, working, ticket, jobs)
  local fields = {}
  for i, job in ipairs(jobs) do
    fields[i * 2 - 1] = ticketText(ticket + i - 1)
    fields[i * 2] = job
  end
  if type(redis.pcall('HSET', working, unpack(fields))) == 'number' then return true end
  for i = #jobs, 1, -1 do redis.call('RPUSH', list, jobs[i]) end
  report(unusable(working))
  return false
end

-- Fetches at most `wanted` jobs from the first `asked` queues. `keysOf` returns the list and the fetched jobs of one.
-- `largest` is the size in bytes of the largest text that the owner has fetched lately: an answer of many megabytes would be
-- late. Returns the end of the answer of the script: per queue the number of fetched jobs; "more" when the rest was too
-- large for one answer; per queue whether it is paused (1); the lengths of the texts; and the texts, joined.
local function fetch(asked, firstName, keysOf, ticket, wanted, mostBytes, largest, pausedQueues)
  local paused = wanted > 0 and run('SMISMEMBER', pausedQueues, unpack(ARGV, firstName, firstName + asked - 1)) or {}
  local counts, lengths, texts, bytes = {}, {}, {}, 0
  -- Numbers as texts: many jobs have the same length.
  local lengthTexts = {}
  for i = 1, asked do
    if wanted <= 0 or bytes >= mostBytes then break end
    local list, working = keysOf(i)
    local isOpen = paused[i] ~= 1
    counts[i] = 0
    while isOpen and wanted > 0 and bytes < mostBytes do
      local n = math.max(math.min(wanted, MAX_FETCHED, math.floor((mostBytes - bytes) / largest)), 1)
      local jobs = run('RPOP', list, n)
      if not jobs or not addToFetched(list, working, ticket, jobs) then break end
      for _, job in ipairs(jobs) do
        texts[#texts + 1] = job
        local length = #job
        lengthTexts[length] = lengthTexts[length] or string.format('%d', length)
        lengths[#lengths + 1] = lengthTexts[length]
        bytes = bytes + length
        if length > largest then largest = length end
      end
      counts[i] = counts[i] + #jobs
      ticket = ticket + #jobs
      wanted = wanted - #jobs
      isOpen = #jobs == n
    end
  end
  return table.concat(counts, ','), wanted > 0 and bytes >= mostBytes and 'more' or '', table.concat(paused),
    table.concat(lengths, ','), table.concat(texts)
end

-- Carries out the step of a short script, in which all settled jobs finished and have no effects but events, then fetches.
-- Atomic for each job. `record` records the events.
--
-- KEYS  1 is stat:processed, 2 is the same of the day, 3 is leases, 4 is paused, 5 is the version of cancellations; after
--       the first `base` of each queue of the call its list and working; then, if jobs are kept, those of `readPacks`.
-- ARGV  are owner, first of the reserved tickets, wanted jobs, most bytes, size in bytes of the largest text lately, number of
--       queues (from the first on) that are fetched from, and their names; what `readPacks` reads; of each queue the tickets
--       that are done.
-- Returns "fenced"; or per queue the number of done tickets that were missing, or e when their key has the wrong type; the
-- problems as lines; the version of cancellations; and what `fetch` returns.
local function shortStep(base, record)
  local owner, ticket, wanted, mostBytes, largest = text(), number(), number(), number(), number()
  local asked = number()
  local firstName = position + 1
  position = position + asked
  if not holdsLease(KEYS[3], owner) then return 'fenced' end

  local function keysOf(i) return KEYS[base + i * 2 - 1], KEYS[base + i * 2] end

  local packs, processed, missing = readPacks(), 0, {}
  for i = 1, #ARGV - position do
    local _, working = keysOf(i)
    local removed
    removed, missing[i] = packs.settle(i, working, text())
    processed = processed + removed
  end
  addToCounters(KEYS[1], KEYS[2], processed)
  if record then record() end

  local version = run('GET', KEYS[5]) or '0'
  local counts, more, paused, lengths, texts = fetch(asked, firstName, keysOf, ticket, wanted, mostBytes, largest, KEYS[4])
  return { table.concat(missing, ','), table.concat(problems, '\n'), version, counts, more, paused, lengths, texts }
end
