-- Opens adding for one more producer, or for one that takes over from another.
--
-- KEYS  as in task-open.lua.
-- ARGV  begin as there; then come producer, the producer that it takes over from or "".
-- Returns "ok" and the total; or the reason why not, and the cursor.
-- include: arguments ledger backlog closing producers task-open

local producer, instead = text(), text()
refuse(wrong(KEYS[13], 'hash'))
if not ledger then return { 'unknown', 0 } end
local at, isGone = cursorOf(ledger, producer)
if producerLine(ledger, producer) then return { 'ok', ledger.total } end
if at then return { (isGone or isLost(ledger, producer)) and 'taken-over' or 'ended', at } end
if ledger.state ~= 'open' then return { 'ended', 0 } end
local cursor = 0
if instead ~= '' then
  cursor, isGone = cursorOf(ledger, instead)
  if not cursor or isGone then return { 'taken-over', cursor or 0 } end
end

-- A server at its memory limit refuses this first write, and then nothing has changed.
redis.call('HSET', KEYS[1], 'cursor:' .. producer, cursor)
if instead ~= '' then
  closeProducer(ledger, KEYS[13], instead)
  redis.call('HSET', KEYS[1], 'cursor:' .. instead, 'x' .. cursor)
  if redis.call('HGET', KEYS[1], 'producer') == instead then redis.call('HSET', KEYS[1], 'producer', producer) end
  local others = withoutLine(ledger.broken, instead)
  if others ~= ledger.broken and ledger.paused == '' then redis.call('HSET', KEYS[1], 'reason', '') end
  ledger.broken = others
end
openProducer(ledger, KEYS[13], 'a', producer)
closeLedgers()
return { 'ok', ledger.total }
