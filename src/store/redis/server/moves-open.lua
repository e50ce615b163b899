-- The beginning of scripts that move jobs. It stands last among the includes.
--
-- KEYS  1 is queues.
-- ARGV  begins with now (ms), and the channel for due jobs.

QUEUES = KEYS[1]
now = number()
local channel = text()
