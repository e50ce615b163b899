-- Reads what is waiting, in flight and dead of ids.
--
-- KEYS  as in ordered-open.lua.
-- ARGV  begin as there, with all shards; then come most payloads of each, "dead" or "", ids.
-- Returns "ok"; then for each id its flight, the shard where it waits, performIn, state, number of payloads, some as
-- payload, score, …; and, if asked for, its entry in the morgue: updatedAt, state, payloads. A missing value is
-- empty.
-- include: arguments ordered-open ordered-state ordered-opened

local most, isDead = number(), text() ~= ''

local function waiting(id)
  local record = redis.call('HGET', IDS, id)
  if not record then return '', '', '', 0, {} end
  local home, old = homesOf(id)
  local where, performIn = home, redis.call('ZSCORE', DUE[home], id)
  if not performIn and old then
    performIn = redis.call('ZSCORE', DUE[old], id)
    if performIn then where = old end
  end
  performIn = performIn or redis.call('ZSCORE', BEHIND, id) or ''
  local line, body = splitRecord(record)
  if body ~= '' then
    local score, payload = splitPayload(body)
    return where, performIn, line, 1, most > 0 and { payload, score } or {}
  end
  local key = PAYLOADS .. id
  if wrong(key, 'zset') then return where, performIn, line, 0, {} end
  local some = most > 0 and redis.call('ZRANGE', key, 0, most - 1, 'WITHSCORES') or {}
  return where, performIn, line, redis.call('ZCARD', key), some
end

local shown = {}
for i = position + 1, #ARGV do
  local id = ARGV[i]
  local one = { redis.call('HGET', FLIGHTS, id) or '', waiting(id) }
  if isDead then
    one[7] = redis.call('ZSCORE', MORGUE, id) or ''
    one[8] = redis.call('HGET', MORGUE_ABOUT, id) or ''
    local key = MORGUE_PAYLOADS .. id
    one[9] = wrong(key, 'zset') and {} or redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
  end
  shown[#shown + 1] = one
end
return { 'ok', unpack(shown) }
