-- Every script begins with this: it reads ARGV in order, checks the types of keys before anything is written, and
-- collects problems.

local position = 0

local function text()
  position = position + 1
  return ARGV[position]
end

local function number()
  position = position + 1
  return tonumber(ARGV[position])
end

local DIGITS = { [0] = '0', '1', '2', '3', '4', '5', '6', '7', '8', '9' }

-- Returns a function that writes whole numbers in this format. Formatting is slow, so it formats one number of those that
-- differ only in the last digit.
local function writer(format)
  local tens, head
  return function(n)
    local last = n % 10
    if n - last ~= tens then
      tens, head = n - last, string.sub(string.format(format, n), 1, -2)
    end
    return head .. DIGITS[last]
  end
end

local types = {}

-- Returns `key` when it holds another type than `kind`: a write to it would fail half-way.
local function wrong(key, kind)
  local found = types[key]
  if not found then
    found = redis.call('TYPE', key).ok
    types[key] = found
  end
  return found ~= 'none' and found ~= kind and key
end

local function unusable(key)
  return 'WRONGTYPE the key ' .. key .. ' holds a value of another type'
end

-- Ends the script with an error that names `key`, if there is one.
local function refuse(key)
  if key then error(unusable(key), 0) end
end

-- Ends the script with an error when a key has another type than the one in its position of this list.
local function expect(...)
  for i, kind in ipairs({ ... }) do refuse(wrong(KEYS[i], kind)) end
end

local function messageOf(thrown)
  return tostring(type(thrown) == 'table' and thrown.err or thrown)
end

-- Problems that do not end the script, each once.
local problems = {}
local function report(problem)
  if not problems[problem] then
    problems[problem] = true
    problems[#problems + 1] = problem
  end
end

-- Reads the server's clock in whole milliseconds.
local function clock()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

-- Returns the score of a cancelled job that is dropped now; see cancellations.lua.
local function droppedAt(wasRunning)
  local time = clock()
  return string.format('%d', -(time - time % 2 + (wasRunning and 1 or 0)))
end

-- Removes nothing with a command that removes. Behind it a server at its memory limit allows all writes of the script.
local function removeNothing(command, key)
  redis.call(command, key, '')
end
