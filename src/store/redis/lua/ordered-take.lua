-- Taking what is due of a shard.

local FEW = 16
-- Behind the first value of each take, and in each flight: a hash with a value of more than 64 bytes is not a list that is
-- gone through.
local PADDING = string.rep(' ', 64)
local LONG = 65

-- What is taken of an id with several payloads, as it is written down: the lowest ones, at least one, at most `most` and
-- `room` bytes; its bytes; how many they are; whether some are left, and whether for want of room.
local function several(id, most, room)
  local key = PAYLOADS .. id
  local parts, bytes, n, largest = { '*' }, 0, 0, nil
  while n < most do
    local step = largest and math.max(math.floor((room - bytes) / largest), 1) or FEW
    local flat = redis.call('ZRANGE', key, n, math.min(n + step, most) - 1, 'WITHSCORES')
    if #flat == 0 then break end
    for i = 1, #flat, 2 do
      local size = #flat[i]
      if n > 0 and bytes + size > room then return table.concat(parts), bytes, n, true, true end
      parts[#parts + 1] = flat[i + 1] .. ' ' .. size .. ' '
      parts[#parts + 1] = flat[i]
      n, bytes, largest = n + 1, bytes + size, math.max(largest or 1, size)
    end
  end
  return table.concat(parts), bytes, n, redis.call('ZCARD', key) > n, bytes > room
end

local function isSuspect(record)
  return string.byte(record) ~= 10 and string.match(record, '^%S+ %S+ (%S)') == '1'
end

-- Answers when the next one is due, and what was taken as id, record, id, …, its bytes, and its flight; `room`: bytes that
-- may be handed out still, but for the first payload of all. `flightOf`: what all of them get.
local function take(shard, token, wanted, mostPayloads, room, isFirst, seconds, flightOf, tell)
  local due = redis.call('ZRANGE', DUE[shard], 0, wanted, 'WITHSCORES')
  local count = math.min(#due / 2, wanted)
  while count > 0 and tonumber(due[2 * count]) > seconds do count = count - 1 end
  if count == 0 then return due[2], {} end
  local flight, ids = flightOf(shard, token), {}
  for i = 1, count do ids[i] = due[2 * i - 1] end

  -- With counters: there are many.
  local out, gone, whole, leftover, flights, handed = {}, {}, {}, {}, {}, {}
  local outs, wholes, taken = 0, 0, 0
  local isOver, isAlone, largest = false, false, nil
  local i, bytes = 1, 0
  while i <= count and not isOver do
    local step = largest and math.max(math.floor((room - bytes) / largest), 1) or FEW
    local last = math.min(i + step - 1, count)
    for j, record in ipairs(redis.call('HMGET', IDS, unpack(ids, i, last))) do
      local k = i + j - 1
      local id, time = ids[k], due[2 * k]
      local size, isSeveral, isLeft, isCut, n = 0, false, false, false, 0
      local suspect = record and isSuspect(record)
      if not record then
        -- Nobody knows what was to be done.
        gone[#gone + 1] = id
      elseif suspect and (taken > 0 or redis.call('EXISTS', TAKEN[shard]) == 1) then
        isOver = true
      else
        isAlone = suspect
        isSeveral = string.byte(record, -1) == 10
        if isSeveral and wrong(PAYLOADS .. id, 'zset') then
          tell(unusable(PAYLOADS .. id))
        else
          if isSeveral then
            local list
            list, size, n, isLeft, isCut = several(id, mostPayloads, room - bytes)
            record = record .. list
          else
            size = #record
          end
          if (isCut or bytes + size > room) and not (isFirst and taken == 0) then
            isOver, isAlone = true, false
          else
            record = time .. (taken == 0 and PADDING or '') .. '\n' .. record
            bytes = bytes + size
            if not largest or size > largest then largest = math.max(size, 1) end
            outs = outs + 1
            out[outs] = id
            flights[taken + 1], flights[taken + 2] = id, flight
            handed[taken + 1], handed[taken + 2] = id, record
            taken = taken + 2
            if not isLeft then
              wholes = wholes + 1
              whole[wholes] = id
            end
            if isSeveral then leftover[#leftover + 1] = { id, isLeft, time, n } end
            if isAlone then isOver = true end
          end
        end
      end
      if isOver then break end
    end
    i = last + 1
  end
  for _, id in ipairs(gone) do out[#out + 1] = id end
  if #out > 0 then
    redis.call('ZREM', DUE[shard], unpack(out))
    if redis.call('EXISTS', RETRIES[shard]) == 1 then redis.call('ZREM', RETRIES[shard], unpack(out)) end
  end
  if #whole > 0 then
    redis.call('HDEL', IDS, unpack(whole))
    if named then redis.call('ZREM', NAMES, unpack(whole)) end
  end
  if named and #gone > 0 then redis.call('ZREM', NAMES, unpack(gone)) end
  for _, one in ipairs(leftover) do
    local id, isLeft, time, n = unpack(one)
    redis.call('ZREMRANGEBYRANK', PAYLOADS .. id, 0, n - 1)
    if isLeft then
      redis.call('HSET', IDS, id, '\n')
      redis.call('ZADD', BEHIND, time, id)
    end
  end
  if taken > 0 then
    redis.call('HSET', TAKEN[shard], unpack(handed))
    redis.call('HSET', FLIGHTS, unpack(flights))
    if isAlone then redis.call('HSET', QUEUE, 'suspect:' .. shard, 1) end
  end
  return redis.call('ZRANGE', DUE[shard], 0, 0, 'WITHSCORES')[2], handed, bytes, flight
end
