-- Renames the fields of the headers of tasks from their names of version 0.1, each header in one step. Does nothing to
-- a header that was renamed before.
--
-- KEYS  are the headers.
-- include: arguments

local RENAMED = {
  adder = 'producer', adders = 'producers', tolerance = 'maxFailures', beyond = 'onMaxFailures', unknown = 'lostAfter',
  held = 'backlog', placed = 'inWindow', before = 'endedBefore', last = 'lastRow', created = 'createdAt',
  progress = 'progressAt', ended = 'finishedAt', watched = 'score',
}

for _, header in ipairs(KEYS) do
  if wrong(header, 'hash') then return redis.error_reply(unusable(header)) end
  for old, new in pairs(RENAMED) do
    local value = redis.call('HGET', header, old)
    if value then
      redis.call('HDEL', header, old)
      redis.call('HSET', header, new, value)
    end
  end
  -- Version 0.1 called keepArgs "keep", and what is "keep" now "stays". The former is a word, the latter a number.
  local keepArgs = redis.call('HGET', header, 'keep')
  if keepArgs and not tonumber(keepArgs) then
    redis.call('HDEL', header, 'keep')
    redis.call('HSET', header, 'keepArgs', keepArgs)
  end
  local keep = redis.call('HGET', header, 'stays')
  if keep then
    redis.call('HDEL', header, 'stays')
    redis.call('HSET', header, 'keep', keep)
  end
end
