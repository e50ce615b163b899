-- Freezes a task for a move to another store, or ends that.
--
-- KEYS  as in task-open.lua; 14 is the tasks that move (hash), 15 and more are the sets of the jobs of this task.
-- ARGV  begin as there; then come the id, "1" or "".
-- Returns "ok", "gone", "adding", "cancelling", or "jobs" when these sets have jobs, so that it stays frozen.
-- include: arguments ledger backlog closing task-open

local id, on, moving = text(), text(), KEYS[14]
refuse(wrong(moving, 'hash'))
if on == '' then
  if redis.call('HGET', moving, id) ~= '' then return 'gone' end
  for i = 15, #KEYS do
    refuse(wrong(KEYS[i], 'zset'))
    if redis.call('EXISTS', KEYS[i]) == 1 then return 'jobs' end
  end
  redis.call('HDEL', moving, id)
  if not ledger then return 'ok' end
else
  if not ledger then return 'gone' end
  if ledger.state == 'cancelling' then return 'cancelling' end
  if ledger.producers ~= '' then return 'adding' end
  redis.call('HSETNX', moving, id, '')
end
ledger.moving = on
closeLedgers()
return 'ok'
