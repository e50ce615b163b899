-- Stores ids of an ordered queue, merged with those that are there: those of a page of another store, or of a page that goes
-- back.
--
-- KEYS  as in ordered-open.lua, with all shards; then the pages from other stores; or the page, and its jobs.
-- ARGV  begin as there; then come "put", name of the page, most pages to remember; or "return", transfer, number of the page;
--       number of ids; of each: "1" (dead) or "", number of texts, texts as in ordered-hold.lua.
-- Returns "stored" or "void"; or 1, or 0 when this page is not held.
-- include: arguments ordered-open ordered-notify ordered-state ordered-opened transfer-page transfer-outcome

local isPut, name = text() == 'put', text()
local kept, pageNumber = isPut and number(), not isPut and number()
local last = KEYS[#KEYS]
if isPut then
  refuse(wrong(last, 'zset'))
  local known = outcomeOf(last, name)
  if known then return known end
else
  local page = KEYS[#KEYS - 1]
  refuse(wrong(page, 'hash') or wrong(last, 'list'))
  if redis.call('EXISTS', last) == 0 or not isPage(page, name, pageNumber) then return 0 end
end
local ids = {}
for i = 1, number() do
  local one = { isDead = text() == '1', texts = {} }
  for j = 1, number() do one.texts[j] = text() end
  refuse(wrongId(one.texts[1]))
  ids[i] = one
end
removeNothing('HDEL', QUEUE)

local function mergeTexts(isDead, texts)
  if isDead then
    local id, at, deaths, err = unpack(texts, 1, 4)
    return mergeDead(id, { unpack(texts, 5) }, at, deaths, err)
  end
  local id, performIn, retryCount, crashes, suspect, err = unpack(texts, 1, 6)
  local state = { retryCount = tonumber(retryCount), crashes = tonumber(crashes), suspect = tonumber(suspect), error = err }
  mergeWaiting(id, { unpack(texts, 7) }, state, performIn)
end

for _, one in ipairs(ids) do mergeTexts(one.isDead, one.texts) end
for shard in pairs(DUE) do notifyShard(shard) end
if isPut then return rememberOutcome(last, name, 'stored', kept) end
redis.call('DEL', last)
return 1
