-- Changes the members of batches, and pushes the jobs that follow from that.
--
-- A batch has three keys hk:batch:BID… of its own: a hash with its fields; `:members` (hash: open member → 0 waiting, 1
-- retrying, 2 dead); `:notes` (hash). Three sorted sets have the bids: hk:batches by their creation, hk:batches:open of
-- those with open members by their last progress, hk:batches:ended by the end of their time. hk:batches:cancelling has
-- those that are being cancelled, which have a field of that name. A batch names others, and the queues of its jobs, so a script
-- computes these keys from that of the names of queues. The fields onComplete, onSuccess and onDeath are JSON, and removed when
-- the job is pushed; so is `job`, the job that waits for the members.

local DEAD_MEMBER = '2'
-- The state of a member after a change; any other change ends it.
local MEMBER_AFTER = { waiting = '0', retrying = '1', dead = DEAD_MEMBER }

local function batchKey(rest)
  return string.sub(QUEUES, 1, -#'queues' - 1) .. rest
end

local function batchOf(bid)
  local values = redis.call('HMGET', batchKey('hk:batch:' .. bid), 'pending', 'retrying', 'dead', 'failed', 'succeeded',
    'total', 'parent', 'keep', 'completedAt', 'succeededAt', 'diedAt', 'job', 'cancelling')
  if not values[1] then return end
  local batch = { bid = bid, key = batchKey('hk:batch:' .. bid), parent = values[7], keep = tonumber(values[8]) }
  for i, name in ipairs({ 'pending', 'retrying', 'dead', 'failed', 'succeeded', 'total' }) do
    batch[name] = tonumber(values[i])
  end
  batch.completedAt, batch.succeededAt, batch.diedAt, batch.job = values[9], values[10], values[11], values[12]
  batch.cancelling = values[13]
  return batch
end

local function saveBatch(batch)
  local n = function(name) return string.format('%d', batch[name]) end
  local time = string.format('%d', now)
  redis.call('HSET', batch.key, 'pending', n('pending'), 'retrying', n('retrying'), 'dead', n('dead'), 'failed', n('failed'),
    'succeeded', n('succeeded'), 'total', n('total'), 'progressAt', time)
  if batch.pending + batch.dead > 0 then
    redis.call('ZADD', batchKey('hk:batches:open'), time, batch.bid)
    redis.call('ZREM', batchKey('hk:batches:ended'), batch.bid)
  else
    redis.call('ZREM', batchKey('hk:batches:open'), batch.bid)
    redis.call('ZADD', batchKey('hk:batches:ended'), string.format('%d', now + batch.keep), batch.bid)
  end
  if batch.cancelling and batch.pending == 0 then
    redis.call('HDEL', batch.key, 'cancelling')
    redis.call('ZREM', batchKey('hk:batches:cancelling'), batch.bid)
  end
end

-- Returns the first key of the batch, and of those around it, that has the wrong type. Ends the script with an error for a
-- batch that no store has written.
local function wrongBatch(bid)
  local depth, sets = 0, wrong(batchKey('hk:batches:open'), 'zset') or wrong(batchKey('hk:batches:ended'), 'zset')
  sets = sets or wrong(batchKey('hk:batches:cancelling'), 'zset')
  local key = sets or wrong(batchKey('dead'), 'zset') or wrong(QUEUES, 'set')
  while bid and not key do
    local own = batchKey('hk:batch:' .. bid)
    key = wrong(own, 'hash') or wrong(own .. ':members', 'hash') or wrong(own .. ':notes', 'hash')
    if key then return key end
    for _, job in ipairs(redis.call('HMGET', own, 'onComplete', 'onSuccess', 'onDeath', 'job')) do
      key = key or job and wrong(batchKey('queue:' .. cjson.decode(job).queue), 'list')
    end
    bid, depth = redis.call('HGET', own, 'parent'), depth + 1
    -- A guard against a cycle: a push refuses this many batches inside each other.
    if depth > 1000 then error('the batch ' .. own .. ' is inside itself', 0) end
  end
  return key
end

-- Adds a member that waits. Returns 1, or 0 if the batch has it already.
local function addMember(batch, id)
  local added = redis.call('HSETNX', batch.key .. ':members', id, '0')
  batch.pending, batch.total = batch.pending + added, batch.total + added
  return added
end

-- Records an event of a job that a batch pushes or drops.
local function recordFromBatch(job, which)
  local about = job.events and job.events[which]
  if not about then return end
  recordKeys = recordKeys or { batchKey('hk:recording'), batchKey('hk:events'), batchKey('hk:events:newest') }
  addRecord(nil, '[1,' .. cjson.encode(job.jid) .. ',' .. string.gsub(about, '\n', string.format('%d', now), 1) .. ']')
end

local function pushFromBatch(job)
  local template, time = timed(job.text)
  addName(job.queue)
  redis.call('LPUSH', batchKey('queue:' .. job.queue), opening(template) .. '"enqueued_at":' .. time .. '}')
  recordFromBatch(job, 'pushed')
end

-- Pushes a job once. It becomes a member of the batch around this one, and is dropped when that is being cancelled: then it
-- stays in its field.
local function callBack(batch, which)
  local text = redis.call('HGET', batch.key, which)
  if not text then return end
  local job = cjson.decode(text)
  local parent = batch.parent and batchOf(batch.parent)
  if parent then
    if parent.cancelling then return end
    addMember(parent, job.jid)
    saveBatch(parent)
  end
  redis.call('HDEL', batch.key, which)
  pushFromBatch(job)
end

-- Pushes the callbacks for a death, also those of the batches around this one.
local function die(batch)
  while batch and not batch.diedAt do
    batch.diedAt = now
    redis.call('HSET', batch.key, 'diedAt', string.format('%d', now))
    callBack(batch, 'onDeath')
    batch = batch.parent and batchOf(batch.parent)
  end
end

-- Returns where the waiting job of a batch goes now; nil: it keeps waiting.
local function fateOf(policy, batch)
  if batch.pending == 0 and batch.dead + batch.failed == 0 then return 'queue' end
  if policy == 'ignore' then return batch.pending == 0 and 'queue' end
  if policy == 'fail' then return batch.dead + batch.failed > 0 and 'dead' end
  return batch.pending + batch.dead == 0 and 'dead'
end

-- Records and keeps what happened to a waiting job that does not run, and wakes those who wait for its result.
local function keepEnd(job, which)
  recordFromBatch(job, which)
  if not job.ends then return end
  local key = batchKey('hk:result:' .. job.jid)
  redis.call('SET', key, job.ends[which], 'PX', string.format('%.0f', job.ends.seconds * 1000))
  redis.pcall('PUBLISH', key, '')
end

local changeMember

local function releaseJob(batch, job, fate)
  redis.call('HDEL', batch.key, 'job')
  if fate == 'queue' then return pushFromBatch(job) end
  local template, time = timed(job.text)
  local dead = opening(template) .. job.failure .. ',"enqueued_at":' .. time .. '}'
  redis.call('ZADD', batchKey('dead'), string.format('%.3f', now / 1000), dead)
  keepEnd(job, 'dead')
  if batch.parent then changeMember(batch.parent, job.jid, 'dead', job.note) end
end

-- Pushes what is to be pushed, and tells the batch around this one.
local function advanceBatch(batch)
  local isComplete, before = batch.pending == 0, batch.completedAt
  local isOver = isComplete and batch.dead == 0
  if isComplete and not before then
    redis.call('HSET', batch.key, 'completedAt', string.format('%d', now))
    callBack(batch, 'onComplete')
  end
  if isOver and batch.failed == 0 and not batch.succeededAt then
    redis.call('HSET', batch.key, 'succeededAt', string.format('%d', now))
    callBack(batch, 'onSuccess')
  end
  saveBatch(batch)
  if batch.job then
    local job = cjson.decode(batch.job)
    local fate = fateOf(job.onChildFailure, batch)
    if fate then releaseJob(batch, job, fate) end
  elseif batch.parent and (isComplete or before) then
    local ended = batch.dead > 0 and 'dead' or batch.failed > 0 and 'failed' or 'succeeded'
    changeMember(batch.parent, batch.bid, batch.pending > 0 and 'waiting' or ended)
  end
end

function changeMember(bid, member, change, note)
  local members = batchKey('hk:batch:' .. bid .. ':members')
  local old, state = redis.call('HGET', members, member), MEMBER_AFTER[change]
  -- A job that fails again has moved: from a worker back to the retries.
  local isMoved = change == 'moved' or change == 'retrying' and old == state
  local batch = old and (isMoved or old ~= state) and batchOf(bid)
  if not batch then return end
  if isMoved then return saveBatch(batch) end
  if state then redis.call('HSET', members, member, state) else redis.call('HDEL', members, member) end
  local function add(name, n) batch[name] = batch[name] + n end
  add(old == DEAD_MEMBER and 'dead' or 'pending', -1)
  if old == '1' then add('retrying', -1) end
  -- A job that ignores its cancellation, and succeeds, must not make a cancelled batch succeed.
  local hasSucceeded = change == 'succeeded' and not batch.cancelling
  if change == 'withdrawn' and not batch.cancelling then
    add('total', -1)
  else
    add(state == DEAD_MEMBER and 'dead' or state and 'pending' or hasSucceeded and 'succeeded' or 'failed', 1)
  end
  if state == '1' then add('retrying', 1) end
  if note then redis.call('HSET', batch.key .. ':notes', note.key, note.text) end
  saveBatch(batch)
  if change == 'dead' or change == 'died' then die(batch) end
  advanceBatch(batch)
end
