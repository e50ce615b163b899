-- Reads items from ARGV and applies them: where a job goes, and the effects that change with it.
--
-- An item in ARGV is its kind, the values below, the number of its effects, and each effect:
--   "-"       the job goes nowhere, because it is done: no values
--   "z"       it goes to a set: number of the set's key, score, text
--   "k"       it goes to the set of finished jobs: as for "z"
--   "l"       it waits for room in its limit: as for "z", then number of the key of limited-queues, its queue
--   "f", "b"  it goes to the front or the back of a queue: number of the queue's key, name of the queue, text
--   "s"       it stays in its place, with another text: text
--
-- An effect is its kind and the values below:
--   "e"  event of a row: base of its task, index, run, attempt, status (number), at, startedAt or "", window (keep, leave,
--        enter or park), code or "", result or "", number of messages, messages
--   "i"  iteration: number of its key, executions (0: it ends), cursor, runtime
--   "u"  withdraw a cancellation: numbers of the keys of cancellations and of the job's iteration, job, "d" (dropped), "b"
--        (dropped while it ran) or ""
--   "l"  release a lock: number of the lock's key, holder
--   "q"  release the lock of a unique job: number of the key of these locks, lock, holder
--   "k"  keep that lock: as for "q", then end or "", due or "", "1" (acquire it if it is free) or "0"
--   "s"  free a slot: numbers of the keys of limits, of their next checks and of the limit's slots, limit, holder
--   "w"  wait for room in a limit: numbers of the keys of limits and of their next checks, limit, its numbers
--   "r"  record an event: number of the first key of record.lua, event
--   "b"  change a member of a batch: batch, member, change, key of a note or "", note
--   "c"  change a run of a cron entry: number of the entry's key, job, state, start of its attempt or "" (unchanged), its
--        end or ""
--   "d"  delete the result of a job: number of its key

-- Seconds: an entry of a set that is due within this time wakes the processes that wait for due jobs.
local SOON = 2

local woken = false

local function readEffect()
  local kind = text()
  if kind == 'l' then return { lock = KEYS[number()], holder = text() } end
  if kind == 'd' then return { kept = KEYS[number()] } end
  if kind == 'c' then
    return { cron = KEYS[number()], jid = text(), state = text(), startedAt = text(), endedAt = text() }
  end
  if kind == 'q' then return { unique = KEYS[number()], key = text(), holder = text() } end
  if kind == 'k' then
    local keep = { unique = KEYS[number()], key = text(), holder = text(), ends = text(), due = text() }
    keep.acquires = text() == '1'
    return keep
  end
  if kind == 's' then
    return { limits = KEYS[number()], checks = KEYS[number()], slots = KEYS[number()], limit = text(), holder = text() }
  end
  if kind == 'r' then return { recording = number(), event = text() } end
  if kind == 'w' then return { limits = KEYS[number()], checks = KEYS[number()], limit = text(), spec = text() } end
  if kind == 'b' then
    return { batch = text(), member = text(), change = text(), note = { key = text(), text = text() } }
  end
  if kind == 'i' then
    return { iteration = KEYS[number()], executions = number(), cursor = text(), runtime = text() }
  elseif kind == 'u' then
    return {
      cancelled = KEYS[number()], iteration = KEYS[number()], jid = text(), dropped = text(),
    }
  end
  local effect = {
    base = number(), index = number(), run = number(), attempt = number(), status = number(), at = number(),
    startedAt = number(), window = text(), code = text(), result = text(), messages = {},
  }
  for i = 1, number() do effect.messages[i] = text() end
  return effect
end

local function readEffects()
  local effects = {}
  for i = 1, number() do effects[i] = readEffect() end
  return effects
end

local function readItem()
  local item = { kind = text() }
  if item.kind == 's' then
    item.text = text()
  elseif item.kind ~= '-' then
    item.key = KEYS[number()]
    item.about = text()
    item.text = text()
    if item.kind == 'l' then item.limited, item.queue = KEYS[number()], text() end
  end
  item.effects = readEffects()
  return item
end

-- Returns the first key of an effect that has the wrong type.
local function wrongEffect(effect)
  if effect.kept then return end
  if effect.recording then return wrongRecording(effect.recording) end
  if effect.lock then return wrong(effect.lock, 'string') end
  if effect.cron then return wrong(effect.cron, 'hash') end
  if effect.unique then return wrong(effect.unique, 'hash') end
  if effect.limits then
    return wrong(effect.limits, 'hash') or wrong(effect.checks, 'zset') or effect.slots and wrong(effect.slots, 'zset')
  end
  if effect.base then return wrongTask(effect.base) end
  if effect.cancelled then return wrong(effect.cancelled, 'zset') end
  return wrong(effect.iteration, 'hash')
end

-- Changes a run that a cron entry remembers. The runs of an entry are a JSON array of arrays: job, tick or "", time of the
-- push, state, start of the last attempt or "", its end or "".
local function changeRun(change)
  local isSound, runs = pcall(cjson.decode, redis.call('HGET', change.cron, 'runs') or '')
  if not isSound or type(runs) ~= 'table' then return end
  for _, run in ipairs(runs) do
    if type(run) == 'table' and run[1] == change.jid then
      run[4], run[6] = change.state, change.endedAt
      if change.startedAt ~= '' then run[5] = change.startedAt end
      redis.call('HSET', change.cron, 'runs', cjson.encode(runs))
      return
    end
  end
end

-- Returns false when the effect is outdated.
local function applyEffect(effect)
  if effect.kept then
    redis.call('UNLINK', effect.kept)
    return true
  end
  if effect.recording then
    addRecord(effect.recording, effect.event)
    return true
  end
  if effect.unique then
    if effect.ends then
      keepLock(effect.unique, effect.key, effect.holder, now, effect.ends, effect.due, effect.acquires)
    else
      releaseLock(effect.unique, effect.key, effect.holder, now)
    end
    return true
  end
  if effect.cron then
    changeRun(effect)
    return true
  end
  if effect.lock then
    if redis.call('GET', effect.lock) == effect.holder then redis.call('DEL', effect.lock) end
    return true
  end
  if effect.slots then
    woken = releaseSlot(effect.limits, effect.checks, effect.slots, effect.limit, effect.holder) or woken
    return true
  end
  if effect.limits then
    redis.call('HSET', effect.limits, effect.limit, effect.spec)
    if redis.call('ZADD', effect.checks, 'NX', microsNow(), effect.limit) == 1 then woken = true end
    return true
  end
  if effect.base then return change(effect) end
  if effect.batch then
    changeMember(effect.batch, effect.member, effect.change, effect.note.key ~= '' and effect.note)
    return true
  end
  if effect.cancelled then
    withdrawCancellation(effect.cancelled, effect.iteration, effect.jid, effect.dropped)
  elseif effect.executions > 0 then
    saveIteration(effect.iteration, effect.executions, effect.cursor, effect.runtime)
  else
    redis.call('UNLINK', effect.iteration)
  end
  return true
end

-- Returns why an effect can't be applied, or nothing. A script that fails half-way is not rolled back, so each
-- obstacle must be found before the first write.
local function obstacleOf(effect)
  if effect.batch then
    local isSound, key = pcall(wrongBatch, effect.batch)
    return not isSound and messageOf(key) or key and unusable(key) or nil
  end
  local key = wrongEffect(effect)
  if key then return unusable(key) end
  if not effect.base then return end
  local isSound, thrown = pcall(ledgerOf, effect.base)
  if not isSound then return messageOf(thrown) end
end

local function isForSet(item) return item.kind == 'z' or item.kind == 'k' or item.kind == 'l' end

-- Returns why an item can't be applied, or nothing.
local function obstacle(item)
  if item.key and wrong(item.key, isForSet(item) and 'zset' or 'list') then return unusable(item.key) end
  if isForSet(item) then
    local score = tonumber(item.about)
    if score ~= score or not score then return "a set can't sort by " .. item.about end
    if item.limited and wrong(item.limited, 'hash') then return unusable(item.limited) end
  elseif item.key and wrong(QUEUES, 'set') then
    return unusable(QUEUES)
  end
  for _, effect in ipairs(item.effects) do
    local problem = obstacleOf(effect)
    if problem then return problem end
  end
end

-- Counts the jobs of a queue that wait for room in their limits.
local function countLimited(key, queue, change)
  if redis.call('HINCRBY', key, queue, change) <= 0 then redis.call('HDEL', key, queue) end
end

local function apply(item)
  if isForSet(item) then addToSet(item.key, item.about, item.text) end
  if item.limited then countLimited(item.limited, item.queue, 1) end
  if item.kind == 'z' and tonumber(item.about) < now / 1000 + SOON then woken = true end
  local admitted = true
  for _, effect in ipairs(item.effects) do
    -- An outdated job goes its way and is settled without running, so the window does not count it.
    local current = applyEffect(effect)
    if current and effect.window == 'enter' and (item.kind == 'f' or item.kind == 'b') then
      admitted = enter(effect, item.text) and admitted
    end
  end
  if (item.kind == 'f' or item.kind == 'b') and admitted then
    addName(item.about)
    -- The right end of the list is the front of the queue.
    redis.call(item.kind == 'f' and 'RPUSH' or 'LPUSH', item.key, item.text)
  end
end

local function applyAll(items)
  for _, item in ipairs(items) do apply(item) end
end

-- Moves a job to one item, or to the several into which it is split. `remove` gets the further arguments and removes
-- the job from where it is. It returns a function that undoes this; or nothing, and the answer (default: g, gone).
-- Returns o (ok) and true; or e (error: the job is where it was), or that answer.
local function move(items, remove, ...)
  -- One item that can't be applied keeps the job where it is.
  local problem
  for _, item in ipairs(items) do problem = problem or obstacle(item) end
  if problem then
    report(problem)
    return 'e'
  end
  local undo, answer = remove(...)
  if not undo then return answer or 'g' end
  local kept = #records
  local ok, err = pcall(applyAll, items)
  if ok then return 'o', true end
  undo()
  dropRecords(kept)
  report(messageOf(err))
  return 'e'
end

-- The message goes out after all writes. The Redis user may have no right to the channel, so its readers poll as
-- well.
local function publish(channel)
  if woken then redis.pcall('PUBLISH', channel, '') end
end

local function finish(channel, report)
  closeLedgers(report)
  appendRecords(now)
  publish(channel)
end
