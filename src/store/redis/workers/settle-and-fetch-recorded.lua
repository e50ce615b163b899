-- Carries out one step of a worker in which all settled jobs finished and have no effects but events to record, then fetches.
-- Atomic for each job.
--
-- KEYS  1 is stat:processed, 2 is the same of the day, 3 is leases, 4 is paused, 5 is the version of cancellations, 6 to 8 are
--       the keys of record.lua; then of each queue of the call its list and working.
-- ARGV  are now (ms), number of events, the events with commas; then as in settle-and-fetch-plain.lua.
-- Returns as settle-and-fetch-plain.lua does.
-- include: arguments record step

local now, count, events = number(), number(), text()
local owner, ticket, wanted, mostBytes, largest = text(), number(), number(), number(), number()
local asked = number()
local firstName = position + 1
position = position + asked
if not holdsLease(KEYS[3], owner) then return 'fenced' end

local function keysOf(i) return KEYS[7 + i * 2], KEYS[8 + i * 2] end

local processed, missing = 0, {}
for i = 1, #ARGV - position do
  local _, working = keysOf(i)
  local removed
  removed, missing[i] = removeTickets(working, text())
  processed = processed + removed
end
addToCounters(KEYS[1], KEYS[2], processed)
addRecord(6, events, count)
appendRecords(now)

local version = run('GET', KEYS[5]) or '0'
local counts, more, paused, lengths, texts = fetch(asked, firstName, keysOf, ticket, wanted, mostBytes, largest, KEYS[4])
return { table.concat(missing, ','), table.concat(problems, '\n'), version, counts, more, paused, lengths, texts }
