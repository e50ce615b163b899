-- Records events, if there is a recording.
--
-- KEYS  1 to 3 are the keys of record.lua.
-- ARGV  are now (ms), number of events, their groups with commas.
-- include: arguments record

local now, count = number(), number()
refuse(wrongRecording(1))
addRecord(1, text(), count)
appendRecords(now)
if problems[1] then return redis.error_reply(problems[1]) end
