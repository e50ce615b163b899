-- Stores jobs in queues and records their events: all of them or none. Unlike push-with-effects.lua it is short,
-- because the server defines the functions of a script anew at each call.
--
-- KEYS  1 is queues, 2 to 4 are the keys of record.lua; then the list of each group of jobs.
-- ARGV  are now (ms), number of events, their groups with commas; of each group: command, name of its queue, number of jobs, and
--       their texts.
-- include: arguments record

local now, count, events = number(), number(), text()
refuse(wrong(KEYS[1], 'set') or wrongRecording(2))
for i = 5, #KEYS do refuse(wrong(KEYS[i], 'list')) end
for i = 5, #KEYS do
  local command, name, jobs = text(), text(), number()
  redis.call('SADD', KEYS[1], name)
  redis.call(command, KEYS[i], unpack(ARGV, position + 1, position + jobs))
  position = position + jobs
end
addRecord(2, events, count)
appendRecords(now)
