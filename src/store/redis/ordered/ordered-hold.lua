-- Takes ids of an ordered queue and holds them as the next page of a transfer, unless a page is held, or the queue is not
-- paused.
--
-- KEYS  as in ordered-open.lua, with all shards; then the page, and its jobs.
-- ARGV  begin as there; then come transfer, target, queue, "1" (dead ids) or "", most payloads, ids.
-- Returns "held" when a page is held; nothing when it took nothing; else the number of the page and, of each id, a JSON array
-- of texts: id, performIn, retryCount, crashes, suspect and error, or id, updatedAt, deaths and error of a dead one; then score
-- and payload of each payload.
-- include: arguments ordered-open ordered-state ordered-opened transfer-page

local page, jobs = KEYS[#KEYS - 1], KEYS[#KEYS]
refuse(wrong(page, 'hash') or wrong(jobs, 'list'))
local transfer, target, queue, isDead, room = text(), text(), text(), text() == '1', number()
if redis.call('EXISTS', jobs) == 1 then return { 'held' } end
for i = position + 1, #ARGV do refuse(wrongId(ARGV[i])) end

if redis.call('HEXISTS', QUEUE, 'paused') == 0 then return {} end
removeNothing('HDEL', page)

-- Returns the lowest payloads for which there is room, and whether these are all.
local function take(key)
  local flat = lowestOf(key, room)
  local isAll = #flat / 2 == redis.call('ZCARD', key)
  if not isAll then redis.call('ZREMRANGEBYRANK', key, 0, #flat / 2 - 1) end
  return flat, isAll
end

local function holdWaiting(id)
  local record = redis.call('HGET', IDS, id)
  if not record or redis.call('HEXISTS', FLIGHTS, id) == 1 then return end
  local line, body = splitRecord(record)
  local state = readState(line)
  local head = { id, performInOf(id) or '0', tostring(state.retryCount), tostring(state.crashes), tostring(state.suspect), state.error }
  local flat, isAll
  if body ~= '' then
    flat, isAll = { splitPayload(body) }, true
  else
    flat, isAll = take(PAYLOADS .. id)
  end
  if isAll then deleteWaiting(id) end
  return head, flat
end

local function holdDead(id)
  local at = redis.call('ZSCORE', MORGUE, id)
  if not at then return end
  local deaths, err = string.match(redis.call('HGET', MORGUE_ABOUT, id) or '1 ', '^(%d+) (.*)$')
  local flat, isAll = take(MORGUE_PAYLOADS .. id)
  if isAll then
    redis.call('ZREM', MORGUE, id)
    redis.call('ZREM', MORGUE_NAMES, id)
    redis.call('HDEL', MORGUE_ABOUT, id)
    redis.call('UNLINK', MORGUE_PAYLOADS .. id)
  end
  return { id, at, deaths, err }, flat
end

local held = {}
for i = position + 1, #ARGV do
  if room <= 0 then break end
  local head, flat = (isDead and holdDead or holdWaiting)(ARGV[i])
  if head then
    room = room - #flat / 2
    for _, part in ipairs(flat) do head[#head + 1] = part end
    held[#held + 1] = cjson.encode(head)
  end
end
if #held == 0 then return {} end
for _, one in ipairs(held) do redis.call('RPUSH', jobs, isDead and 'dead-id' or 'id', queue, one) end
redis.call('HSET', page, 'transfer', transfer, 'target', target)
return { redis.call('HINCRBY', page, 'number', 1), unpack(held) }
