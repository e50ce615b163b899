-- Records events of jobs, if there is a recording.
--
-- The recording is a hash: `keep` (how many events), `confirmed`. A stream has the events of each script as one entry, whose ID is
-- the number of the last of them: `e` is a JSON array of groups (`packEvents`), `t` the time (ms). A counter, which is never deleted, has the newest
-- number. Their keys stand in this order.

local records, recordCount, recordKeys = {}, 0, nil

local function wrongRecording(base)
  return wrong(KEYS[base], 'hash') or wrong(KEYS[base + 1], 'stream') or wrong(KEYS[base + 2], 'string')
end

-- Adds an event, or `count` events: their groups with commas. `base` is the number of the first key.
local function addRecord(base, groups, count)
  recordKeys = recordKeys or { KEYS[base], KEYS[base + 1], KEYS[base + 2] }
  records[#records + 1] = groups
  recordCount = recordCount + (count or 1)
end

-- Drops all single events but the first `kept`.
local function dropRecords(kept)
  for i = #records, kept + 1, -1 do
    records[i] = nil
    recordCount = recordCount - 1
  end
end

-- A problem must not end a script that has moved jobs. The reader sees that numbers are missing.
local function appendRecords(now)
  if recordCount == 0 then return end
  local keep = redis.pcall('HGET', recordKeys[1], 'keep')
  keep = type(keep) == 'string' and tonumber(keep)
  if not keep then return end
  local newest = redis.pcall('INCRBY', recordKeys[3], recordCount)
  local added = newest
  if type(newest) == 'number' then
    added = redis.pcall('XADD', recordKeys[2], 'MINID', '~', string.format('%.0f', math.max(newest - keep, 0)),
      string.format('%.0f-0', newest), 'e', '[' .. table.concat(records, ',') .. ']', 't', string.format('%.0f', now))
  end
  if type(added) == 'table' and added.err then report(recordKeys[2] .. ': ' .. added.err) end
end
