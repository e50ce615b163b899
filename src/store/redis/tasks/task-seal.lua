-- Seals a frozen task: its header gets another name.
--
-- KEYS  as in task-freeze.lua; 15 is the header of a sealed task, 16 is the jobs of the page that is held.
-- ARGV  begin as in task-open.lua; then come transfer, target, and how many rows have each status.
-- Returns 1; 0 when the task is not in this state.
-- include: arguments ledger backlog closing task-open

local transfer, target = text(), text()
refuse(wrong(KEYS[14], 'hash') or wrong(KEYS[16], 'list'))
if not ledger or ledger.moving == '' or ledger.state == 'cancelling' then return 0 end
if ledger.producers ~= '' or ledger.inWindow ~= 0 or redis.call('EXISTS', KEYS[16]) == 1 then return 0 end
for i = 0, 5 do
  if ledger.n[i] ~= number() then return 0 end
end
redis.call('HSET', KEYS[1], 'transfer', transfer)
redis.call('HSET', KEYS[14], ledger.id, transfer .. '\n' .. target)
redis.call('RENAME', KEYS[1], KEYS[15])
redis.call('ZREM', KEYS[9], ledger.id)
if ledger.backlog ~= 0 then redis.call('INCRBY', KEYS[8], -ledger.backlog) end
return 1
