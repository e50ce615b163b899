-- Lists the rejected rows of a task in order.
--
-- KEYS  1 to 11 are the keys of the task (ledger.lua).
-- ARGV  are the index behind which the list begins, the most rows, which rows ("all", "code": those with the code that
--       follows, "none": those without a code, "others": those whose codes have no slot of their own), the code, and the
--       numbers of the statuses.
-- Returns the index up to which the list is complete, or an empty text at its end; then the indexes of rows, a few more than
-- asked for. One call compares the codes of a limited number of rows, so there may be fewer rows than asked for before the end.
-- include: arguments ledger

local MOST_COMPARED, MOST_AT_ONCE = 5000, 3000
-- An index is below this.
local BY_SLOT = 4294967296

refuse(wrongTask(1))
local after, limit, which, code = number(), number(), text(), text()
local statuses, isWanted = {}, {}
while position < #ARGV do
  local status = text()
  statuses[#statuses + 1] = status
  isWanted[status] = true
end

-- The rows of one status and slot. It is read up to `last`; the first of `found` that is not returned yet is at `next`.
local lists = {}
local function addList(status, slot, isMixed)
  local first = (tonumber(status) * 256 + tonumber(slot)) * BY_SLOT
  lists[#lists + 1] = { first = first, isMixed = isMixed, last = after, found = {}, next = 1 }
end

if which == 'all' then
  local slots = redis.call('HGETALL', KEYS[6])
  for i = 1, #slots, 2 do
    local status = string.match(slots[i], '^(%d):')
    if isWanted[status] then addList(status, slots[i + 1]) end
  end
end
for _, status in ipairs(statuses) do
  if which == 'code' then
    local slot = redis.call('HGET', KEYS[6], status .. ':' .. code)
    addList(status, slot or OTHER_CODES, not slot)
  else
    if which ~= 'others' then addList(status, 0) end
    if which ~= 'none' then addList(status, OTHER_CODES) end
  end
end

-- Returns those of the rows that have the code.
local function withCode(indexes)
  local fields = {}
  for i, index in ipairs(indexes) do fields[i] = 'c' .. index end
  local codes, found = redis.call('HMGET', KEYS[3], unpack(fields)), {}
  for i, index in ipairs(indexes) do
    if codes[i] == code then found[#found + 1] = index end
  end
  return found
end

local compared, few = 0, math.min(limit, math.ceil(4 * limit / #lists) + 5)

local function readOn(list)
  local most = list.few or few
  list.few = math.min(most * 2, MOST_AT_ONCE)
  local from, to = list.first + list.last + 1, list.first + BY_SLOT - 1
  local page = redis.call('ZRANGEBYSCORE', KEYS[4], from, to, 'LIMIT', 0, most)
  list.last = #page < most and BY_SLOT or tonumber(page[#page])
  if list.isMixed and #page > 0 then
    compared = compared + #page
    page = withCode(page)
  end
  for _, index in ipairs(page) do list.found[#list.found + 1] = tonumber(index) end
end

-- All lists are read up to `last`. A round reads on in those that end there.
local last, answer = after, { '' }
while #answer <= limit and last < BY_SLOT and compared < MOST_COMPARED do
  local nearest = BY_SLOT
  for _, list in ipairs(lists) do
    if list.last == last then readOn(list) end
    nearest = math.min(nearest, list.last)
  end
  last = nearest
  local known = {}
  for _, list in ipairs(lists) do
    local index = list.found[list.next]
    while index and index <= last do
      known[#known + 1] = index
      list.next = list.next + 1
      index = list.found[list.next]
    end
  end
  table.sort(known)
  for _, index in ipairs(known) do answer[#answer + 1] = index end
end
if last < BY_SLOT then answer[1] = string.format('%d', last) end
return answer
