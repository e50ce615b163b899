-- Fetches due ids of a shard.

local FEW = 16
-- Padding of the first value of each fetch, and of each flight. A hash with a value of more than 64 bytes is stored
-- as a hash table, in which the server finds fields without reading all of them.
local PADDING = string.rep(' ', 64)
local LONG = 65

-- Reads the payloads of an id that has several: the lowest ones, at least one, at most `most` and `room` bytes.
-- Returns them as a record, their bytes, their number, whether some are left, and whether that is for lack of room.
local function lowestPayloads(id, most, room)
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

-- Returns when the next id is due; id, record, id, … of the fetched ids; their bytes; their flight. `room` is the
-- bytes that may still be returned; the first payload of all comes in any case. `flightOf` makes the flight.
local function fetchDue(shard, token, wanted, mostPayloads, room, isFirst, seconds, flightOf, report)
  local due = redis.call('ZRANGE', DUE[shard], 0, wanted, 'WITHSCORES')
  local count = math.min(#due / 2, wanted)
  while count > 0 and tonumber(due[2 * count]) > seconds do count = count - 1 end
  if count == 0 then return due[2], {} end
  local flight, ids = flightOf(shard, token), {}
  for i = 1, count do ids[i] = due[2 * i - 1] end

  -- Counters are faster than # for lists of this length.
  local out, gone, whole, leftover, flights, fetched = {}, {}, {}, {}, {}, {}
  local outs, wholes, filled = 0, 0, 0
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
        -- Without a record it is not known what to do.
        gone[#gone + 1] = id
      elseif suspect and (filled > 0 or redis.call('EXISTS', FETCHED[shard]) == 1) then
        isOver = true
      else
        isAlone = suspect
        isSeveral = string.byte(record, -1) == 10
        if isSeveral and wrong(PAYLOADS .. id, 'zset') then
          report(unusable(PAYLOADS .. id))
        else
          if isSeveral then
            local list
            list, size, n, isLeft, isCut = lowestPayloads(id, mostPayloads, room - bytes)
            record = record .. list
          else
            size = #record
          end
          if (isCut or bytes + size > room) and not (isFirst and filled == 0) then
            isOver, isAlone = true, false
          else
            record = time .. (filled == 0 and PADDING or '') .. '\n' .. record
            bytes = bytes + size
            if not largest or size > largest then largest = math.max(size, 1) end
            outs = outs + 1
            out[outs] = id
            flights[filled + 1], flights[filled + 2] = id, flight
            fetched[filled + 1], fetched[filled + 2] = id, record
            filled = filled + 2
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
    -- Mostly they are the first ones.
    if #gone == 0 and out[outs] == ids[outs] then
      redis.call('ZREMRANGEBYRANK', DUE[shard], 0, outs - 1)
    else
      redis.call('ZREM', DUE[shard], unpack(out))
    end
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
  if filled > 0 then
    redis.call('HSET', FETCHED[shard], unpack(fetched))
    redis.call('HSET', FLIGHTS, unpack(flights))
    if isAlone then redis.call('HSET', QUEUE, 'suspect:' .. shard, 1) end
  end
  return redis.call('ZRANGE', DUE[shard], 0, 0, 'WITHSCORES')[2], fetched, bytes, flight
end
