-- Reads the common arguments of scripts that move jobs. Include it last.
--
-- KEYS  1 is queues.
-- ARGV  begins with now (ms), and the channel for due jobs.

QUEUES = KEYS[1]
now = number()
local channel = text()
