-- Reads packs of finished jobs: the jobs of one step of a worker, which nobody has read yet.
--
-- A stream has each pack as an entry, whose ID is NUMBER-TIME: the number of its last job, counted from the first job that was
-- ever packed, and the time at which the last of its jobs ended, rounded up (ms). Its fields are `n` (how many jobs), `s` (their
-- scores, each with how many consecutive jobs have it: "1.5 2,1.7 1"), `t` (their texts, separated by NUL) and `m` (for
-- each score the members that are appended to its texts, separated by NUL). Packs of older processes have no `m`. A
-- counter has the newest number. `readPacks` in step.lua adds the packs.
--
-- KEYS  1 is the set of finished jobs, 2 is the packs, 3 is their counter.

-- Returns the oldest pack after that of a number; nothing if there is none.
local function packAfter(number)
  local entry = redis.call('XRANGE', KEYS[2], string.format('%.0f-0', number + 1), '+', 'COUNT', 1)[1]
  if not entry then return end
  local last, time = string.match(entry[1], '^(%d+)-(%d+)$')
  local fields = entry[2]
  return { last = tonumber(last), time = tonumber(time), size = tonumber(fields[2]), scores = fields[4], texts = fields[6],
    members = fields[8] or '' }
end

-- Returns how many jobs there are in `pack`, the oldest one, and in those after it.
local function packedFrom(pack)
  if not pack then return 0 end
  return math.max(tonumber(redis.call('GET', KEYS[3]) or 0) or 0, pack.last) - pack.last + pack.size
end

-- Appends score and text of each job of a pack to an array.
local function appendJobs(array, pack)
  local from = 1
  local nextMembers = string.gmatch(pack.members .. '\0', '(%Z*)%z')
  for score, times in string.gmatch(pack.scores, '([^ ,]+) (%d+)') do
    local members = nextMembers() or ''
    for _ = 1, tonumber(times) do
      local separator = string.find(pack.texts, '\0', from, true) or #pack.texts + 1
      array[#array + 1] = score
      if members == '' then
        array[#array + 1] = string.sub(pack.texts, from, separator - 1)
      else
        array[#array + 1] = string.sub(pack.texts, from, separator - 2) .. members .. '}'
      end
      from = separator + 1
    end
  end
end

-- Deletes the packs up to a number. The stream goes with its last pack, so that its IDs never forbid a smaller one.
local function deletePacks(last)
  redis.call('XTRIM', KEYS[2], 'MINID', string.format('%.0f', last + 1))
  if not packAfter(last) then redis.call('DEL', KEYS[2]) end
end

-- Moves the oldest packs with about `most` jobs into the set. Returns whether there were more.
local function unpackOldest(most)
  local entries, last, pack = {}, 0, packAfter(0)
  while pack and #entries < most * 2 do
    appendJobs(entries, pack)
    last = pack.last
    pack = packAfter(last)
  end
  -- A server at its memory limit allows what comes after a removal.
  if last > 0 then deletePacks(last) end
  for i = 1, #entries, 1000 do redis.call('ZADD', KEYS[1], unpack(entries, i, math.min(i + 999, #entries))) end
  return pack ~= nil
end
