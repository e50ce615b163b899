-- Removes the lowest entries of a set that are too many or too old. One step, because others remove entries as well.
--
-- KEYS  1 is the set.
-- ARGV  are the most entries that stay, the lowest score that stays, the most entries to remove, and a needle or "".
-- Returns the number of removed entries, and the removed entries that contain the needle.
-- include: arguments

expect('zset')
local most, since, limit, needle = number(), text(), number(), text()
local excess = redis.call('ZCARD', KEYS[1]) - most
local removed = math.min(math.max(excess, redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. since)), limit)
if removed <= 0 then return { 0 } end
local answer = { removed }
for _, entry in ipairs(needle ~= '' and redis.call('ZRANGE', KEYS[1], 0, removed - 1) or {}) do
  if string.find(entry, needle, 1, true) then answer[#answer + 1] = entry end
end
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, removed - 1)
return answer
