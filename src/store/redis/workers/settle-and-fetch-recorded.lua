-- Carries out one step of a worker in which all settled jobs finished and have no effects but events, then fetches.
--
-- KEYS  are those of `shortStep`; 6 to 8 are the keys of record.lua.
-- ARGV  are now (ms), number of events, their groups with commas; then those of `shortStep`.
-- Returns as `shortStep` does.
-- include: arguments record step

local now, count, events = number(), number(), text()
return shortStep(8, function()
  addRecord(6, events, count)
  appendRecords(now)
end)
