-- Cancels rows of a task that is being cancelled: first those that wait in it, then those whose jobs are elsewhere.
--
-- KEYS  1 to 11 the task (ledger.lua), 12 queues.
-- ARGV  now (ms), about how many.
-- Gives how many were cancelled, "1" when none is left, then the indexes of those met whose jobs are in the
--       queue or with an owner.
-- include: arguments ledger waiting closing

local LOOKED_AT = 10

QUEUES = KEYS[12]
now = number()
local most = math.min(number(), MOST_AT_ONCE)
local key = wrongTask(1)
if key then return redis.error_reply(unusable(key)) end

local book = bookOf(1)
if not book or book.state ~= 'cancelling' then return { '0', '1' } end
redis.call('HDEL', KEYS[1], '')
local cancelled, bytes, placed = 0, 0, {}

while cancelled < most and bytes < MOST_BYTES do
  local entries = redis.call('LPOP', KEYS[5], math.min(most - cancelled, 100))
  if not entries then break end
  for _, entry in ipairs(entries) do
    local event, index, _, mark, args, source = living(book, entry)
    if event then
      event = eventOf(book, index)
      -- Passing it by here is what has placed it in the eyes of the books.
      event.place = HELD
      cancelEvent(book, event)
      if mark == '' and not event.drop then keepAside(book, event, args, source) end
      cancelled = cancelled + 1
    end
    bytes = bytes + #entry
  end
end

local at = tonumber(redis.call('HGET', KEYS[1], 'sweep') or 0)
if cancelled < most and bytes < MOST_BYTES then
  local records = redis.call('GETRANGE', KEYS[2], at * SIZE, (at + most * LOOKED_AT) * SIZE - 1)
  for i = 1, #records, SIZE do
    if cancelled == most then break end
    local status = string.byte(records, i) % 8
    if status <= 1 then
      -- What was changed in this very call stands in the books.
      local event = eventOf(book, at)
      -- Also those that are one job with others, and have no place of their own.
      if event.place == PLACED or event.status == 1 then placed[#placed + 1] = tostring(at) end
      if event.status == 0 then
        cancelEvent(book, event)
        cancelled = cancelled + 1
      end
    end
    at = at + 1
  end
  if at >= book.total then at = 0 end
end
redis.call('HSET', KEYS[1], 'sweep', at)
local isDone = book.n[0] == 0 and (at == 0 or book.n[1] == 0)
closeBooks()
return { tostring(cancelled), isDone and '1' or '', unpack(placed) }
