-- Reads the number of items from ARGV, and the items. Ends the script with an error when one of them can't be applied, so that
-- nothing has changed.
local function readItems()
  local items = {}
  for i = 1, number() do
    items[i] = readItem()
    local problem = obstacle(items[i])
    if problem then error(problem, 0) end
  end
  return items
end
