-- Records events, if there is a recording.
--
-- KEYS  1 to 3 are the keys of record.lua; 4, if it is there, is the list to which the transaction of this script has pushed the
--       jobs: without a list nothing was pushed.
-- ARGV  are now (ms), number of events, their groups with commas.
-- include: arguments record

local now, count = number(), number()
refuse(wrongRecording(1) or KEYS[4] and wrong(KEYS[4], 'list'))
addRecord(1, text(), count)
appendRecords(now)
if problems[1] then return redis.error_reply(problems[1]) end
