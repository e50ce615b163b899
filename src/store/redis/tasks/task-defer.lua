-- Records that an attempt of a row is deferred.
--
-- KEYS  as in task-open.lua; 14 is the deferred rows (sorted set: jid → deadline in ms).
-- ARGV  begin as there; then come the jid, index, run, attempt, time of its begin, deadline.
-- Returns "ok", "superseded" or "unknown".
-- include: arguments ledger backlog closing task-open

local jid, index, run, attempt, at, ends = text(), number(), number(), number(), number(), number()
refuse(wrong(KEYS[14], 'zset'))
local event = ledger and eventOf(ledger, index)
if not event then return 'unknown' end
if ledger.state ~= 'open' and ledger.state ~= 'done' then return 'superseded' end
local hasBegun = event.run == run and event.step == attempt * 2 and event.status == 1
local start = { base = 1, index = index, run = run, attempt = attempt, status = 1, at = at, window = 'keep', messages = {} }
if not hasBegun and not change(start) then return 'superseded' end
-- A server at its memory limit refuses this first write, and then nothing has changed.
redis.call('ZADD', KEYS[14], ends, jid)
local earlier = deferralOf(ledger, event)
saveDeferral(ledger, event, { attempt = attempt, ends = ends, state = earlier and earlier.state }, 'r')
closeLedgers()
return 'ok'
