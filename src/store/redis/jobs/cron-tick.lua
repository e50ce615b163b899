-- Decides a tick of an unchanged cron entry, and pushes its job.
--
-- KEYS  1 is queues, 2 is the entry, 3 is the locks of unique jobs; then the keys that ARGV names.
-- ARGV  begin as in moves-open.lua; then come number of the lock's key or 0, text, from, to, jid or "" (the tick is
--       skipped), due or "", number of locks of the unique job, and of each lock its name, end or "", suspicion (unique.lua),
--       item (moves.lua).
-- Returns "ok", "gone", or "held" or "refused" and the holder of the lock.
-- include: arguments ledger backlog closing iteration cancellations record unique batches slots sets moves moves-open

local entry, locks, lock = KEYS[2], KEYS[3], KEYS[number()]
local expected, from, to, jid, due = text(), text(), text(), text(), text()
local claims = readClaims()
local item = readItem()
local key = wrong(entry, 'hash') or (lock and wrong(lock, 'string')) or (claims[1] and wrong(locks, 'hash'))
local problem = key and unusable(key) or obstacle(item)
if problem then return redis.error_reply(problem) end

-- How many runs an entry remembers: CRON_RUNS of the contract.
local REMEMBERED = 20

-- Returns the runs of the entry (see changeRun) with this one in front.
local function withRun(runs)
  local isSound, all = pcall(cjson.decode, runs or '')
  if not isSound or type(all) ~= 'table' then all = {} end
  table.insert(all, 1, { jid, to ~= from and to or '', string.format('%d', now), 'waiting', '', '' })
  while #all > REMEMBERED do table.remove(all) end
  return cjson.encode(all)
end

local stored = redis.call('HMGET', entry, 'text', 'tick', 'paused', 'jid', 'pushed', 'runs')
if stored[1] ~= expected or stored[2] ~= from then return { 'gone' } end
if stored[3] == '1' and jid ~= '' and to ~= from then return { 'gone' } end
if jid == '' then
  redis.call('HSET', entry, 'tick', to)
  return { 'ok' }
end
local holder = lock and redis.call('GET', lock)
if holder and holder ~= jid then return { 'held', holder } end
local owner = holderOf(locks, claims, now)
if owner and owner ~= jid then return { 'refused', owner } end

-- A server at its memory limit refuses this first write, and then nothing has changed.
redis.call('HSET', entry, 'tick', to, 'jid', jid, 'pushed', string.format('%d', now), 'runs', withRun(stored[6]))
local ok, err = pcall(apply, item)
if not ok then
  redis.call('HSET', entry, 'tick', from, 'jid', stored[4] or '', 'pushed', stored[5] or '', 'runs', stored[6] or '')
  return redis.error_reply(messageOf(err))
end
if lock then redis.call('SET', lock, jid) end
if not owner then acquireLocks(locks, claims, jid, due) end
finish(channel)
return { 'ok' }
