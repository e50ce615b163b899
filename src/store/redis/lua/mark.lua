-- Marks a job as cancelled, for us and for Sidekiq's iterable jobs: the first time stands.
--
-- KEYS  1 marks of cancelled jobs, 2 their newest version, 3 the job's iteration state.
-- ARGV  job, ms that a mark lives, ms that a dropped one is known, most marks, seconds that the state lives.
-- include: arguments clock

local cancelled, newest, iteration = KEYS[1], KEYS[2], KEYS[3]
for i, kind in ipairs({ 'zset', 'string', 'hash' }) do
  if wrong(KEYS[i], kind) then return redis.error_reply(unusable(KEYS[i])) end
end
-- The server's clock, not those of whoever marks: one that is ahead would have all marks forgotten.
local now, jid = clock(), text()
local function whole(n) return string.format('%d', n) end

-- Removals first: at its memory limit the server lets pass what begins with one.
redis.call('ZREMRANGEBYSCORE', cancelled, 1, whole(now - number()))
redis.call('ZREMRANGEBYSCORE', cancelled, whole(number() - now), -1)
local excess = redis.call('ZCARD', cancelled) - number()
if excess >= 0 then redis.call('ZREMRANGEBYRANK', cancelled, 0, excess) end

local version = tonumber(redis.call('ZSCORE', cancelled, jid) or 0)
if version <= 0 then
  version = math.max(now, tonumber(redis.call('GET', newest) or 0) + 1)
  redis.call('SET', newest, whole(version))
  redis.call('ZADD', cancelled, whole(version), jid)
end
redis.call('HSETNX', iteration, 'cancelled', whole(math.floor(version / 1000)))
if redis.call('TTL', iteration) < 0 then redis.call('EXPIRE', iteration, number()) end
return 1
