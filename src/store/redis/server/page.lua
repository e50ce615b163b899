-- Reads a page of each of several sorted sets, in one order of (score, text).
--
-- One script does this: between two commands other clients may remove entries, and a page by rank would then skip as
-- many.
--
-- KEYS  are the sets.
-- ARGV  are "desc" or "", most entries, and score and text of the entry after which the page begins, which may be gone;
--       without them the page begins with the first entry.
-- Returns text, score, text, … of each set.
-- include: arguments rank

local isDesc, most, score, entry = text() == 'desc', number(), text(), text()

-- Returns the number of entries before the page.
local function firstOf(key)
  if not score then return 0 end
  local before = rankOf(key, score, entry, not isDesc)
  return isDesc and redis.call('ZCARD', key) - before or before
end

local pages = {}
for i, key in ipairs(KEYS) do
  refuse(wrong(key, 'zset'))
  local first = firstOf(key)
  pages[i] = redis.call(isDesc and 'ZREVRANGE' or 'ZRANGE', key, first, first + most - 1, 'WITHSCORES')
end
return pages
