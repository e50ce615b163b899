-- Marks a minute as one of a deploy, once for many who say so.
--
-- KEYS  1 lock of the label, 2 marks of the day.
-- ARGV  minute, label, seconds that the lock and the marks are kept.
-- Gives 1, or 0 when somebody else was faster.
-- include: arguments

for i, kind in ipairs({ 'string', 'hash' }) do
  if wrong(KEYS[i], kind) then return redis.error_reply(unusable(KEYS[i])) end
end
local minute, label = text(), text()
if not redis.call('SET', KEYS[1], minute, 'EX', text(), 'NX') then return 0 end
local first = redis.call('HSETNX', KEYS[2], minute, label)
redis.call('EXPIRE', KEYS[2], text())
return first
