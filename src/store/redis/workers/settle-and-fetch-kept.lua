-- Like settle-and-fetch-plain.lua, for a step in which settled jobs go to the set of finished jobs.
--
-- KEYS  1 is stat:processed, 2 is the same of the day, 3 is leases, 4 is paused, 5 is the version of cancellations;
--       then of each queue of the call its list and working; then the set of finished jobs.
-- ARGV  are owner, first of the reserved tickets, wanted jobs, most bytes, size in bytes of the largest text lately, number of
--       queues (from the first on) that are fetched from, and their names; of each queue: the tickets that are done, number of
--       values, and as values score and text of each entry for the set.
-- Returns "fenced"; or per queue the number of done tickets that were missing, or e when their key has the wrong type; the
-- problems as lines; the version of cancellations; and what `fetch` returns.
-- include: arguments step

local owner, ticket, wanted, mostBytes, largest = text(), number(), number(), number(), number()
local asked = number()
local firstName = position + 1
position = position + asked
if not holdsLease(KEYS[3], owner) then return 'fenced' end

local function keysOf(i) return KEYS[4 + i * 2], KEYS[5 + i * 2] end

local processed, missing = 0, {}
local finished = KEYS[#KEYS]
local isUnusable = wrong(finished, 'zset')
if isUnusable then report(unusable(finished)) end
for i = 1, (#KEYS - 6) / 2 do
  local _, working = keysOf(i)
  local tickets, values, removed = text(), number(), 0
  missing[i] = 'e'
  if not isUnusable then removed, missing[i] = removeTickets(working, tickets) end
  -- Removing the tickets comes first: then a server at its memory limit allows this command.
  if values > 0 and missing[i] ~= 'e' then run('ZADD', finished, unpack(ARGV, position + 1, position + values)) end
  position = position + values
  processed = processed + removed
end
addToCounters(KEYS[1], KEYS[2], processed)

local version = run('GET', KEYS[5]) or '0'
local counts, more, paused, lengths, texts = fetch(asked, firstName, keysOf, ticket, wanted, mostBytes, largest, KEYS[4])
return { table.concat(missing, ','), table.concat(problems, '\n'), version, counts, more, paused, lengths, texts }
