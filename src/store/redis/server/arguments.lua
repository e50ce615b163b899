-- Reads ARGV in order, checks the types of keys before anything is written, and formats errors.

local cursor = 0

local function text()
  cursor = cursor + 1
  return ARGV[cursor]
end

local function number()
  cursor = cursor + 1
  return tonumber(ARGV[cursor])
end

local types = {}

-- Returns true when a key holds another type than `kind`: a write to it would fail half-way.
local function wrong(key, kind)
  local found = types[key]
  if not found then
    found = redis.call('TYPE', key).ok
    types[key] = found
  end
  return found ~= 'none' and found ~= kind
end

local function unusable(key)
  return 'WRONGTYPE the key ' .. key .. ' holds something else than what belongs there'
end

local function messageOf(thrown)
  return tostring(type(thrown) == 'table' and thrown.err or thrown)
end
