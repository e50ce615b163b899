-- Ends a row of which an attempt was deferred.
--
-- KEYS  as in task-defer.lua; 15 is the header of a sealed task, whose rows keep their deadlines.
-- ARGV  begin as in task-open.lua; then come the jid, index, status (number), code or "", result or "", "1" if the row ends
--       only after its deadline, number of messages, messages.
-- Returns "ok", "ended", "not-deferred" or "unknown"; then status and code of the row.
-- include: arguments ledger backlog closing task-open

local jid, index, status, code, result, isOverdue = text(), number(), number(), text(), text(), text() == '1'
local messages = {}
for i = 1, number() do messages[i] = text() end
refuse(wrong(KEYS[14], 'zset'))
if not ledger and redis.call('EXISTS', KEYS[15]) == 1 then return { 'unknown' } end
removeNothing('HDEL', KEYS[1])
local event = ledger and eventOf(ledger, index)
local deferral = event and deferralOf(ledger, event)
local function isIn(attempt) return event.status == 1 and math.floor(event.step / 2) == attempt end

if isOverdue and deferral and deferral.ends > now then
  -- Another attempt has moved the deadline since the caller read it.
  return { 'not-deferred', event.status, '' }
end
redis.call('ZREM', KEYS[14], jid)
if not event then return { 'unknown' } end
if event.status > 1 then
  if deferral and deferral.state == 'p' then saveDeferral(ledger, event, deferral, 'r') end
  return { 'ended', event.status, redis.call('HGET', KEYS[3], 'c' .. index) or '' }
end
if not deferral or isOverdue and not isIn(deferral.attempt) then
  if deferral then saveDeferral(ledger, event, deferral, 'r') end
  return { 'not-deferred', event.status, '' }
end
saveDeferral(ledger, event, deferral, 'e')
reach(ledger, event, { run = event.run, status = status, at = now }, event.step - event.step % 2 + 1)
leave(ledger, event)
become(ledger, event, status, code)
event.result = note(ledger, event, 'r', event.result, result)
event.drop = isDropped(ledger, status)
addMessages(ledger, index, messages)
noteRejection(ledger, event.run, status)
closeLedgers()
return { 'ok', status, code }
