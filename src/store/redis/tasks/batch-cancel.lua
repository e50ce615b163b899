-- Drops the waiting job of a batch, and marks the batch as being cancelled while it has pending members.
--
-- KEYS  1 is queues.
-- ARGV  begin as in moves-open.lua; then comes the bid.
-- Returns 1 if a job was waiting, else 0.
-- include: arguments ledger backlog closing iteration cancellations record unique batches slots sets moves moves-open

local bid = text()
refuse(wrongBatch(bid))
local batch = batchOf(bid)
local job = batch and batch.job and cjson.decode(batch.job)
if batch then
  -- A server at its memory limit allows this script, because the first write is a removal.
  removeNothing('HDEL', batch.key)
  if batch.pending > 0 then
    redis.call('HSET', batch.key, 'cancelling', 1)
    redis.call('ZADD', batchKey('hk:batches:cancelling'), string.format('%d', now), bid)
  end
  redis.call('HDEL', batch.key, 'job')
  if job then keepEnd(job, 'cancelled') end
  if job and batch.parent then changeMember(batch.parent, job.jid, 'failed', job.note) end
end
finish(channel)
return job and 1 or 0
