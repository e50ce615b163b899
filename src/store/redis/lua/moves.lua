-- Where jobs go, and what changes with them.
--
-- An item in ARGV is: "-" (nowhere: it is done); or "z", place of the set's key, score, text; or "f" | "b" (front | back
-- of a queue), place of the queue's key, its name, text; then the number of its effects, and each effect.
--
-- An effect is: "e" (event), base of its task, index, run, attempt, status (number), at, startedAt or "", place (keep |
-- leave | enter), code or "", result or "", number of messages, messages; or "i" (iteration), place of its key,
-- executions (0: it ends), cursor, runtime; or "u" (unmark), places of the marks and of the job's iteration, job, "1"
-- (dropped) or "0"; or "l" (unlock), place of the lock's key, holder.

-- A set's entry that is due sooner than others look.
local SOON = 2

local woken = false

local function readEffect()
  local kind = text()
  if kind == 'l' then return { lock = KEYS[number()], holder = text() } end
  if kind == 'i' then
    return { iteration = KEYS[number()], executions = number(), cursor = text(), runtime = text() }
  elseif kind == 'u' then
    return {
      cancelled = KEYS[number()], iteration = KEYS[number()], jid = text(), dropped = text() == '1',
    }
  end
  local effect = {
    base = number(), index = number(), run = number(), attempt = number(), status = number(), at = number(),
    startedAt = number(), place = text(), code = text(), result = text(), messages = {},
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
  if item.kind ~= '-' then
    item.key = KEYS[number()]
    item.about = text()
    item.text = text()
  end
  item.effects = readEffects()
  return item
end

-- The first key of an effect that holds something else than it should.
local function wrongEffect(effect)
  if effect.lock then return wrong(effect.lock, 'string') and effect.lock end
  if effect.base then return wrongTask(effect.base) end
  if effect.cancelled then return wrong(effect.cancelled, 'zset') and effect.cancelled end
  return wrong(effect.iteration, 'hash') and effect.iteration
end

-- False: it comes too late to change anything.
local function takeEffect(effect)
  if effect.lock then
    if redis.call('GET', effect.lock) == effect.holder then redis.call('DEL', effect.lock) end
    return true
  end
  if effect.base then return change(effect) end
  if effect.cancelled then
    unmark(effect.cancelled, effect.iteration, effect.jid, effect.dropped)
  elseif effect.executions > 0 then
    saveIteration(effect.iteration, effect.executions, effect.cursor, effect.runtime)
  else
    redis.call('UNLINK', effect.iteration)
  end
  return true
end

-- Why an effect can't be taken, as a line; nothing if it can. A script that fails half-way is not taken back: whatever may
-- be in the way is looked for before the first write.
local function obstacleOf(effect)
  local key = wrongEffect(effect)
  if key then return unusable(key) end
  if not effect.base then return end
  local isSound, thrown = pcall(bookOf, effect.base)
  if not isSound then return lineOf(thrown) end
end

-- The same of an item.
local function obstacle(item)
  if item.kind ~= '-' and wrong(item.key, item.kind == 'z' and 'zset' or 'list') then return unusable(item.key) end
  if item.kind == 'z' then
    local score = tonumber(item.about)
    if score ~= score or not score then return 'a set can not sort by ' .. item.about end
  elseif item.kind ~= '-' and wrong(QUEUES, 'set') then
    return unusable(QUEUES)
  end
  for _, effect in ipairs(item.effects) do
    local line = obstacleOf(effect)
    if line then return line end
  end
end

-- Appends a number to a text as white space, which JSON allows: its binary digits, as spaces and tabs.
local function numbered(entry, n)
  local digits = {}
  while n > 0 do
    digits[#digits + 1] = n % 2 == 1 and ' ' or '\t'
    n = math.floor(n / 2)
  end
  return entry .. table.concat(digits)
end

-- A set holds each text once. When another job has the same text there, this one gets a number so that both stay: a free
-- number directly after a taken one. Of n equal texts about log n are read.
local function distinct(key, entry)
  local function isTaken(n) return redis.call('ZSCORE', key, numbered(entry, n)) end
  if not isTaken(0) then return entry end
  local taken, free = 0, 1
  while isTaken(free) do taken, free = free, free * 2 end
  while free - taken > 1 do
    local middle = math.floor((taken + free) / 2)
    if isTaken(middle) then taken = middle else free = middle end
  end
  return numbered(entry, free)
end

local function addToSet(key, score, entry)
  redis.call('ZADD', key, score, distinct(key, entry))
  if tonumber(score) < now / 1000 + SOON then woken = true end
end

local function apply(item)
  if item.kind == 'z' then addToSet(item.key, item.about, item.text) end
  local admitted = true
  for _, effect in ipairs(item.effects) do
    -- A text that has been overtaken goes on its way and is settled unrun: it has no place.
    local current = takeEffect(effect)
    if current and effect.place == 'enter' and (item.kind == 'f' or item.kind == 'b') then
      admitted = enter(effect, item.text) and admitted
    end
  end
  if (item.kind == 'f' or item.kind == 'b') and admitted then
    redis.call('SADD', QUEUES, item.about)
    redis.call(item.kind == 'f' and 'RPUSH' or 'LPUSH', item.key, item.text)
  end
end

local function applyAll(items)
  for _, item in ipairs(items) do apply(item) end
end

-- The message goes out after all writes. The Redis user may have no right to the channel; its readers poll as well.
local function publish(channel)
  if woken then redis.pcall('PUBLISH', channel, '') end
end

local function finish(channel, tell)
  closeBooks(tell)
  publish(channel)
end
