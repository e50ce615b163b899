-- Releases the slots of owners without a lease, checks the limits that got room by it, and deletes those that are unused.
--
-- KEYS  1 is leases, 2 is limits, 3 is limit-checks; then the slots of each limit.
-- ARGV  are the channel for due jobs, and the names of the limits.
-- Returns 1.
-- include: arguments slots

expect('zset', 'hash', 'zset')
local mustCheck = false
removeNothing('ZREM', KEYS[3])
for i = 4, #KEYS do
  local limit, slots = ARGV[i - 2], KEYS[i]
  if not wrong(slots, 'zset') then
    mustCheck = releaseOrphanedSlots(slots, KEYS[1]) > 0 and checkNow(KEYS[3], limit) or mustCheck
    deleteUnused(KEYS[2], KEYS[3], slots, limit)
  end
end
if mustCheck then redis.pcall('PUBLISH', ARGV[1], '') end
return 1
