-- Records events, if there is a recording.
--
-- KEYS  1 to 3 are the keys of record.lua.
-- ARGV  are now (ms), number of events, events.
-- include: arguments record

local now = number()
refuse(wrongRecording(1))
for _ = 1, number() do addRecord(1, text()) end
appendRecords(now)
if problems[1] then return redis.error_reply(problems[1]) end
