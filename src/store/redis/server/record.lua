-- Records events of jobs, if there is a recording.
--
-- The recording is a hash: `keep` (how many events), `confirmed`. A stream has the events of each script as one entry, whose ID is
-- the number of the last of them: `e` is a JSON array of groups (`packEvents`), `t` the time (ms). A counter, which is never deleted, has the newest
-- number. Their keys stand in this order.

local records, recordCount, recordBase = {}, 0, nil

local function wrongRecording(base)
  return wrong(KEYS[base], 'hash') or wrong(KEYS[base + 1], 'stream') or wrong(KEYS[base + 2], 'string')
end

-- Adds an event, or `count` events: their groups with commas.
local function addRecord(base, groups, count)
  recordBase = base
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
  local keep = redis.pcall('HGET', KEYS[recordBase], 'keep')
  keep = type(keep) == 'string' and tonumber(keep)
  if not keep then return end
  local newest = redis.pcall('INCRBY', KEYS[recordBase + 2], recordCount)
  local added = newest
  if type(newest) == 'number' then
    added = redis.pcall('XADD', KEYS[recordBase + 1], 'MINID', '~', string.format('%.0f', math.max(newest - keep, 0)),
      string.format('%.0f-0', newest), 'e', '[' .. table.concat(records, ',') .. ']', 't', string.format('%.0f', now))
  end
  if type(added) == 'table' and added.err then report(KEYS[recordBase + 1] .. ': ' .. added.err) end
end
