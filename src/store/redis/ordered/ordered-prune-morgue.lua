-- Removes the oldest dead ids: those beyond a number, and those before a time.
--
-- KEYS  as in ordered-open.lua.
-- ARGV  begin as there; then come the most ids that stay, the oldest updatedAt that stays, most ids to remove.
-- Returns the number of removed ids.
-- include: arguments ordered-open ordered-opened

local max, since, most = number(), text(), number()
local n = math.max(redis.call('ZCARD', MORGUE) - max, redis.call('ZCOUNT', MORGUE, '-inf', '(' .. since))
n = math.min(n, most)
if n <= 0 then return 0 end
local ids = redis.call('ZRANGE', MORGUE, 0, n - 1)
redis.call('ZREM', MORGUE, unpack(ids))
redis.call('ZREM', MORGUE_NAMES, unpack(ids))
redis.call('HDEL', MORGUE_ABOUT, unpack(ids))
for _, id in ipairs(ids) do redis.call('UNLINK', MORGUE_PAYLOADS .. id) end
return #ids
