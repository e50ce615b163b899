-- Taking what is due of a shard.

local FEW = 16
-- Behind the first value of each take: a hash with one of more than 64 bytes is not a list that is gone through.
local PADDING = string.rep(' ', 64)

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

-- Answers when the next one is due, and what was taken as id, record, id, …; `room`: bytes that may be handed out still,
-- but for the first payload of all. `flight`: what stands behind the number in each ticket. The numbers are the next ones.
local function take(shard, wanted, mostPayloads, room, isFirst, seconds, flight, ticket, tell)
  local due = redis.call('ZRANGE', DUE[shard], 0, wanted, 'WITHSCORES')
  local ids = {}
  for i = 1, math.min(#due, 2 * wanted), 2 do
    if tonumber(due[i + 1]) > seconds then break end
    ids[#ids + 1] = due[i]
  end
  if #ids == 0 then return due[2], {} end

  local out, gone, whole, leftover, takenFields, flights, handed = {}, {}, {}, {}, {}, {}, {}
  local isOver, isAlone, largest = false, false, nil
  local i, bytes = 1, 0
  while i <= #ids and not isOver do
    local step = largest and math.max(math.floor((room - bytes) / largest), 1) or FEW
    local last = math.min(i + step - 1, #ids)
    for j, record in ipairs(redis.call('HMGET', IDS, unpack(ids, i, last))) do
      local id, time = ids[i + j - 1], due[2 * (i + j - 1)]
      local size, isSeveral, isLeft, isCut, n = 0, false, false, false, 0
      if not record then
        -- Nobody knows what was to be done.
        gone[#gone + 1] = id
      elseif isSuspect(record) and (#handed > 0 or redis.call('EXISTS', TAKEN[shard]) == 1) then
        isOver = true
      else
        isAlone = isSuspect(record)
        isSeveral = string.find(record, '\n', 1, true) == #record
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
          if (isCut or bytes + size > room) and not (isFirst and #handed == 0) then
            isOver, isAlone = true, false
          else
            local padding = #handed == 0 and PADDING or ''
            record = time .. padding .. '\n' .. record
            bytes = bytes + size
            largest = math.max(largest or 1, size)
            ticket = ticket + 1
            out[#out + 1] = id
            takenFields[#takenFields + 1] = id
            takenFields[#takenFields + 1] = record
            flights[#flights + 1] = id
            flights[#flights + 1] = ticket .. flight .. padding
            handed[#handed + 1] = id
            handed[#handed + 1] = record
            if not isLeft then whole[#whole + 1] = id end
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
    redis.call('ZREM', RETRIES[shard], unpack(out))
  end
  if #whole > 0 then
    redis.call('HDEL', IDS, unpack(whole))
    redis.call('ZREM', NAMES, unpack(whole))
  end
  if #gone > 0 then redis.call('ZREM', NAMES, unpack(gone)) end
  for _, one in ipairs(leftover) do
    local id, isLeft, time, n = unpack(one)
    redis.call('ZREMRANGEBYRANK', PAYLOADS .. id, 0, n - 1)
    if isLeft then
      redis.call('HSET', IDS, id, '\n')
      redis.call('ZADD', BEHIND, time, id)
    end
  end
  if #handed > 0 then
    redis.call('HSET', TAKEN[shard], unpack(takenFields))
    redis.call('HSET', FLIGHTS, unpack(flights))
    if isAlone then redis.call('HSET', QUEUE, 'suspect:' .. shard, 1) end
  end
  return redis.call('ZRANGE', DUE[shard], 0, 0, 'WITHSCORES')[2], handed, bytes, ticket
end
