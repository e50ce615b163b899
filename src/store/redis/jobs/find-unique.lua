-- Finds locks of unique jobs by their names.
--
-- KEYS  1 is the locks.
-- ARGV  are now (ms), number of locks, and the name of each.
-- Returns of each lock its holder, end and suspicion; the holder of a free lock is "".
-- include: arguments unique

local time, found = number(), {}
expect('hash')
for i = 1, number() do
  local holder, ends, suspicion = findLock(KEYS[1], text(), time)
  found[3 * i - 2], found[3 * i - 1], found[3 * i] = holder or '', ends or '', suspicion or ''
end
return found
