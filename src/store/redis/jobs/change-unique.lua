-- Notes or releases locks of unique jobs, each only if a job has it.
--
-- KEYS  1 is the locks.
-- ARGV  are the new suspicion or "" (release), number of locks; of each: name, holder, and the suspicion that it must have or "".
-- Returns 1 for each lock that was changed, else 0.
-- include: arguments unique

local new, changed = text(), {}
expect('hash')
for i = 1, number() do
  local key, wanted, wantedSuspicion = text(), text(), text()
  -- Locks whose time is over are not free here, so that they can be released, too.
  local holder, ends, suspicion, due = findLock(KEYS[1], key, -1)
  local isMeant = holder == wanted and (wantedSuspicion == '' or suspicion == wantedSuspicion)
  if isMeant and new == '' then
    redis.call('HDEL', KEYS[1], key)
  elseif isMeant and suspicion ~= '-' then
    writeLock(KEYS[1], key, holder, ends, new, due)
  end
  changed[i] = isMeant and 1 or 0
end
return changed
