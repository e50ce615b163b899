-- Remembers what became of pages and tasks from other stores.
--
-- Each source has two sorted sets, for its pages and for its tasks. A member is transfer:number. Its score is twice its
-- position in order of arrival, plus one if it is void.

local function outcomeOf(pages, page)
  local known = redis.call('ZSCORE', pages, page)
  if known then return tonumber(known) % 2 == 0 and 'stored' or 'void' end
end

local function rememberOutcome(pages, page, outcome, kept)
  local last = tonumber(redis.call('ZRANGE', pages, -1, -1, 'WITHSCORES')[2] or 0)
  local place = math.floor(last / 2) * 2 + 2
  redis.call('ZADD', pages, string.format('%.0f', outcome == 'void' and place + 1 or place), page)
  redis.call('ZREMRANGEBYRANK', pages, 0, -kept - 1)
  return outcome
end
