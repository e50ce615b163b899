-- Searches the set of finished jobs for a text, newest first. This is several times as fast as ZSCAN with a pattern.
--
-- KEYS  1 is the set of finished jobs.
-- ARGV  are the text to find, the score at which to begin, how many jobs of this score to skip ("+inf" and 0: begin
--       with the newest), most jobs, most bytes.
-- Returns the score and the number for the next call (two empty texts: all jobs are searched), then score and text of
-- each job found.
-- include: arguments

local AT_ONCE = 100

local needle, score, passed, most, mostBytes = text(), text(), number(), number(), number()
expect('zset')

-- Returns how many jobs have a higher score.
local function after(score) return redis.call('ZCOUNT', KEYS[1], '(' .. score, '+inf') end

local first = score == '+inf' and 0 or after(score) + passed
local found, read, bytes, last = {}, 0, 0, nil
while read < most and bytes < mostBytes do
  local jobs = redis.call('ZREVRANGE', KEYS[1], first + read, first + read + AT_ONCE - 1)
  for _, job in ipairs(jobs) do
    bytes, last = bytes + #job, job
    if string.find(job, needle, 1, true) then
      found[#found + 1] = redis.call('ZSCORE', KEYS[1], job)
      found[#found + 1] = job
    end
  end
  read = read + #jobs
  if #jobs < AT_ONCE then return { '', '', unpack(found) } end
end
score = redis.call('ZSCORE', KEYS[1], last)
return { score, first + read - after(score), unpack(found) }
