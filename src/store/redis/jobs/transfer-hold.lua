-- Takes jobs out of a queue or a set and holds them as the next page of a transfer, unless a page is held.
--
-- KEYS  1 is the page, 2 is its jobs, 3 is limited-queues; then the set, or the lists of the queue.
-- ARGV  are transfer, target, "zset" or "list"; the first job of the queue to search (counted from the one that is fetched
--       next, and below 0 before it), and how many; of each further key its name; number of jobs; of each: text, score, its
--       queue if it waits for room in a limit or "".
-- Returns the page that is held (transfer-page.lua).
-- include: arguments sets moves transfer-page

-- As in pull.lua: taken elements are overwritten with this text, and then all of them are removed.
local GONE = 'hk:gone'

local page, jobs = KEYS[1], KEYS[2]
local transfer, target, kind, first, searched = text(), text(), text(), number(), number()
expect('hash', 'list', 'hash')
local names = {}
for i = 4, #KEYS do
  names[i] = text()
  refuse(wrong(KEYS[i], kind))
end
if redis.call('EXISTS', jobs) == 1 then return heldPage(page, jobs) end

-- Of each list, the indexes of each text in the part to search; the last one is fetched before the others.
local found = {}
for i = 4, kind == 'list' and #KEYS or 0 do
  local length = redis.call('LLEN', KEYS[i])
  local from, to = math.max(first, 0), math.min(first + searched, length)
  found[i] = {}
  if from < to then
    for n, job in ipairs(redis.call('LRANGE', KEYS[i], length - to, length - from - 1)) do
      found[i][job] = found[i][job] or {}
      table.insert(found[i][job], length - to + n - 1)
    end
  end
  -- The next list is behind this one.
  first = first - length
end

local taken, gone = {}, {}
local function add(...)
  for _, part in ipairs({ ... }) do taken[#taken + 1] = part end
end

-- The first write removes nothing, so that a server at its memory limit allows the script.
removeNothing('HDEL', page)
for _ = 1, number() do
  local job, score, limited = text(), text(), text()
  if kind == 'zset' then
    if tonumber(redis.call('ZSCORE', KEYS[4], job) or 'nan') == tonumber(score) then
      redis.call('ZREM', KEYS[4], job)
      if limited ~= '' then countLimited(KEYS[3], limited, -1) end
      add(names[4], score, job)
    end
  else
    for i = 4, #KEYS do
      local index = table.remove(found[i][job] or {})
      if index then
        redis.call('LSET', KEYS[i], index, GONE)
        gone[i] = (gone[i] or 0) + 1
        add('queue', names[i], job)
        break
      end
    end
  end
end
for i, count in pairs(gone) do redis.call('LREM', KEYS[i], -count, GONE) end
if #taken == 0 then return {} end

redis.call('HINCRBY', page, 'number', 1)
redis.call('HSET', page, 'transfer', transfer, 'target', target)
redis.call('RPUSH', jobs, unpack(taken))
return heldPage(page, jobs)
