-- Creates batches with their first members, adds members to earlier ones, and stores jobs: all of it or nothing.
--
-- KEYS  1 is queues, 2 is the set of all batches, 3 is the locks of unique jobs; then the keys that items name.
-- ARGV  begin as in moves-open.lua; then come most batches inside each other, number of new batches, and of each: bid,
--       createdAt, parent or "", number of further values, these values as field, value; number of batches that get members,
--       and of each: bid, number of members without locks, these members; number of jobs, and the item (moves.lua) of each;
--       number of members with locks, and of each: number of its batch among those that get members, member, number of its
--       job, jid, "1" if a held lock refuses the push or "", due or "", number of locks, and of each its name, end or "",
--       suspicion (unique.lua).
-- Returns "ok", and of each member with locks "" and "" or, if its job was refused, the holder of its lock and when that was due;
-- "exists" when the first new batch exists; or the reason of a refusal, the bid, the member and, for "held", the holder.
-- include: arguments ledger backlog closing iteration cancellations record unique batches slots sets moves items moves-open

local function depthOf(bid)
  return tonumber(redis.call('HGET', batchKey('hk:batch:' .. bid), 'depth') or 1)
end

local new, depths, mostNested = {}, {}, number()
refuse(wrong(KEYS[2], 'zset'))
for i = 1, number() do
  local one = { bid = text(), createdAt = text(), parent = text(), values = {} }
  for j = 1, number() do one.values[j] = text() end
  refuse(wrongBatch(one.bid))
  for j = 1, #one.values, 2 do
    if string.find(one.values[j], '^on') or one.values[j] == 'job' then
      refuse(wrong(batchKey('queue:' .. cjson.decode(one.values[j + 1]).queue), 'list'))
    end
  end
  if i == 1 and redis.call('EXISTS', batchKey('hk:batch:' .. one.bid)) == 1 then return { 'exists' } end
  local around = one.parent ~= '' and (depths[one.parent] or depthOf(one.parent)) or 0
  if around >= mostNested then return { 'too-deep', one.bid } end
  new[i], depths[one.bid] = one, around + 1
end

local grown = {}
for i = 1, number() do
  local one = { bid = text(), members = {} }
  for j = 1, number() do one.members[j] = text() end
  grown[i] = one
end

local items = readItems()

local locks, taken, unique, answer, conflict = KEYS[3], {}, {}, { 'ok' }, nil
-- Returns the job that has the first of the locks that is held, when it was due, and whether this call stores it.
local function firstHolder(claims)
  for _, claim in ipairs(claims) do
    local other = taken[claim.key]
    if other then return other.jid, other.due, true end
    local holder, _, _, due = findLock(locks, claim.key, now)
    if holder then return holder, due end
  end
end
for i = 1, number() do
  if i == 1 then refuse(wrong(locks, 'hash')) end
  local batch, one = grown[number()], { member = text(), item = items[number()], jid = text() }
  local raises = text() == '1'
  one.due, one.claims = text(), readClaims()
  local holder, due, isNew = firstHolder(one.claims)
  local isRefused = holder and not (isNew and holder == one.jid and not raises)
  if not holder then
    for _, claim in ipairs(one.claims) do
      if claim.ends == '' or tonumber(claim.ends) > now then taken[claim.key] = one end
    end
    table.insert(batch.members, one.member)
    table.insert(unique, one)
  elseif isRefused and raises then
    conflict = conflict or { 'held', batch.bid, one.member, holder }
  end
  one.item.isDropped = holder ~= nil
  table.insert(answer, isRefused and holder or '')
  table.insert(answer, isRefused and due or '')
end

for _, one in ipairs(grown) do
  if not depths[one.bid] then
    refuse(wrongBatch(one.bid))
    local batch = batchOf(one.bid)
    if not batch then return { 'unknown', one.bid } end
    if batch.pending == 0 then return { 'ended', one.bid } end
    if batch.cancelling then return { 'cancelled', one.bid } end
  end
  local seen = {}
  for _, member in ipairs(one.members) do
    if seen[member] or redis.call('HEXISTS', batchKey('hk:batch:' .. one.bid .. ':members'), member) == 1 then
      return { 'repeated', one.bid, member }
    end
    seen[member] = true
  end
end
if conflict then return conflict end

local isEmpty = {}
for i, one in ipairs(new) do
  redis.call('HSET', batchKey('hk:batch:' .. one.bid), 'pending', 0, 'retrying', 0, 'dead', 0, 'failed', 0, 'succeeded', 0,
    'total', 0, 'depth', depths[one.bid], 'createdAt', one.createdAt, 'progressAt', string.format('%d', now), unpack(one.values))
  if one.parent ~= '' then redis.call('HSET', batchKey('hk:batch:' .. one.bid), 'parent', one.parent) end
  redis.call('ZADD', KEYS[2], one.createdAt, one.bid)
  isEmpty[one.bid] = true
end
for _, one in ipairs(grown) do
  if #one.members > 0 then
    local batch = batchOf(one.bid)
    for _, id in ipairs(one.members) do addMember(batch, id) end
    saveBatch(batch)
    isEmpty[one.bid] = nil
  end
end
for _, one in ipairs(unique) do acquireLocks(locks, one.claims, one.jid, one.due) end
for _, item in ipairs(items) do
  if not item.isDropped then apply(item) end
end
-- An empty batch has succeeded, and its callbacks belong to the batch around it, so that one comes later.
for i = #new, 1, -1 do
  if isEmpty[new[i].bid] then advanceBatch(batchOf(new[i].bid)) end
end
finish(channel)
return answer
