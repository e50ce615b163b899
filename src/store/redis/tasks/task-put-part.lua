-- Keeps a part of a file that a task produces.
--
-- KEYS  1 to 11 are the keys of the task (ledger.lua), 12 is the parts (hash: index → bytes, and "bytes" → the size
--       of all).
-- ARGV  are the index, bytes, the most bytes of all parts together, run and attempt or "" of each.
-- Returns "ok", "full", "unknown", or "stale" when the row is in another attempt.
-- include: arguments ledger

refuse(wrongTask(1) or wrong(KEYS[12], 'hash'))
local index, bytes, most, run, attempt = text(), text(), number(), number(), number()
local ledger = ledgerOf(1)
if not ledger then return 'unknown' end
if run then
  -- The same condition as isInAttempt in store/contract/task-events.ts.
  local event = eventOf(ledger, tonumber(index))
  local status = event and event.run == run and event.status
  local judged = status == ERROR and redis.call('HGET', KEYS[3], 'c' .. index)
  local attempts = event and math.floor(event.step / 2)
  local isIn = (status == 1 or judged == 'lost' or judged == 'dead') and attempts == attempt
    or (status == 0 or judged == 'ran-elsewhere' or judged == 'dead') and attempts == attempt - 1
  if not isIn then return 'stale' end
end
local all = tonumber(redis.call('HGET', KEYS[12], 'bytes') or 0) - redis.call('HSTRLEN', KEYS[12], index) + #bytes
if all > most then return 'full' end
redis.call('HSET', KEYS[12], index, bytes, 'bytes', all)
return 'ok'
