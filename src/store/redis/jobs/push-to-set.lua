-- Adds jobs to a set, all of them or none. A job whose text is there already stays beside the other one.
--
-- KEYS  1 is the set.
-- ARGV  are the score and the text of each job.
-- include: arguments sets

expect('zset')
for i = 1, #ARGV, 2 do
  local score = tonumber(ARGV[i])
  if not score or score ~= score then error("a set can't sort by " .. ARGV[i], 0) end
end
for i = 1, #ARGV, 2 do
  -- Hardly any text is in the set already.
  if redis.call('ZADD', KEYS[1], 'NX', ARGV[i], ARGV[i + 1]) == 0 then addToSet(KEYS[1], ARGV[i], ARGV[i + 1]) end
end
