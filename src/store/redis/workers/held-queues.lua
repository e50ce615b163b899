-- Finds the queues of which owners hold jobs. The keys of owners are put together here, as in count.lua.
--
-- KEYS  are the hashes of the owners.
-- ARGV  are, for the keys `working` and `arriving` each, the text before the queue and the text between queue and owner; then
--       the owners.
-- Returns owner, queue, owner, …
-- include: arguments

local working, arriving = { text(), text() }, { text(), text() }
local found = {}
for _, key in ipairs(KEYS) do
  local owner = text()
  local fields = redis.pcall('HKEYS', key)
  refuse(fields.err and key)
  for _, field in ipairs(fields) do
    local queue = string.match(field, '^q (.*)$')
    local tickets = queue and working[1] .. queue .. working[2] .. owner
    if queue and redis.call('EXISTS', tickets, arriving[1] .. queue .. arriving[2] .. owner) > 0 then
      found[#found + 1] = owner
      found[#found + 1] = queue
    end
  end
end
return found
