-- Keeps and drops the index of names. It costs more memory than all else about an id, and is seldom needed.

local NAMES_KEPT_MS = 600000

local function keepNames()
  named = clock() + NAMES_KEPT_MS
  -- A server at its memory limit refuses this, and shows the names all the same.
  redis.pcall('HSET', QUEUE, 'named', string.format('%d', named))
end

-- Drops the index when nobody has asked for it for long.
local function forgetNames()
  if not named or clock() < named then return end
  redis.call('HDEL', QUEUE, 'named', 'naming')
  redis.call('UNLINK', NAMES)
  named = nil
end
