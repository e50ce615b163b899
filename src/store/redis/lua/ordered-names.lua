-- Names cost more than all else that is kept of an id, and few ask for them.

local NAMES_KEPT_MS = 600000

local function keepNames()
  named = clock() + NAMES_KEPT_MS
  -- A full server refuses it, and shows them all the same.
  redis.pcall('HSET', QUEUE, 'named', string.format('%d', named))
end

-- Where much is pushed and taken: nobody has asked for long.
local function forgetNames()
  if not named or clock() < named then return end
  redis.call('HDEL', QUEUE, 'named', 'naming')
  redis.call('UNLINK', NAMES)
  named = nil
end
