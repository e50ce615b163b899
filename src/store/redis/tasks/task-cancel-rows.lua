-- Cancels rows of a task that is being cancelled: first those in the backlog, then those whose jobs are elsewhere, and
-- those that are parked.
--
-- KEYS  as in task-open.lua.
-- ARGV  begin as there; then come about how many rows.
-- Returns the number of cancelled rows, "1" when none is left, then the indexes of rows whose jobs are in the queue
-- or with an owner.
-- include: arguments ledger backlog closing task-open

local READ_PER_ROW = 10

local most = math.min(number(), MOST_AT_ONCE)
if not ledger or ledger.state ~= 'cancelling' then return { '0', '1' } end
removeNothing('HDEL', KEYS[1])
local cancelled, bytes, queued = 0, 0, {}

while cancelled < most and bytes < MOST_BYTES do
  local entries = redis.call('LPOP', KEYS[5], math.min(most - cancelled, 100))
  if not entries then break end
  for _, entry in ipairs(entries) do
    local event, index, _, kind, args, source = resolveEntry(ledger, entry)
    if event then
      event = eventOf(ledger, index)
      -- Reading the entry has just moved the row into the window, as far as the ledger knows.
      event.location = BACKLOG
      cancelEvent(ledger, event)
      if kind == '' and not event.drop then keepAside(ledger, event, args, source) end
      cancelled = cancelled + 1
    end
    bytes = bytes + #entry
  end
end

local hasParked = tonumber(redis.call('HGET', KEYS[1], 'deferred') or 0) > 0

-- Returns the deferral of a row that is parked.
local function parkedOf(event)
  local deferral = hasParked and event.status == 1 and event.location == ELSEWHERE and deferralOf(ledger, event)
  return deferral and deferral.state == 'p' and deferral
end

local at = tonumber(redis.call('HGET', KEYS[1], 'sweep') or 0)
-- If the backlog has used up this call, it reads no records, and does not know whether any are left.
local readsRecords = cancelled < most and bytes < MOST_BYTES
if readsRecords then
  local records = redis.call('GETRANGE', KEYS[2], at * SIZE, (at + most * READ_PER_ROW) * SIZE - 1)
  for i = 1, #records, SIZE do
    -- The answer is unpacked, and Lua's unpack fails for more than about 8,000 values.
    if cancelled == most or #queued >= most then break end
    local status = string.byte(records, i) % 8
    if status <= 1 then
      -- The ledger has the changes of this call.
      local event = eventOf(ledger, at)
      local parked = parkedOf(event)
      if parked then
        saveDeferral(ledger, event, parked, 'e')
      elseif event.location == WINDOW or event.status == 1 then
        -- Includes rows that are one job with others and are not in the window themselves.
        queued[#queued + 1] = tostring(at)
      end
      if event.status == 0 or parked then
        cancelEvent(ledger, event)
        cancelled = cancelled + 1
      end
    end
    at = at + 1
  end
  if at >= ledger.total then at = 0 end
end
redis.call('HSET', KEYS[1], 'sweep', at)
local isDone = ledger.n[0] == 0 and (readsRecords and at == 0 or ledger.n[1] == 0)
closeLedgers()
return { tostring(cancelled), isDone and '1' or '', unpack(queued) }
