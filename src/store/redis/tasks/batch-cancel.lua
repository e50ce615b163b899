-- Drops the waiting job of a batch, and marks the batch as being cancelled while it has pending members.
--
-- KEYS  1 is queues.
-- ARGV  begin as in moves-open.lua; then comes the bid.
-- include: arguments ledger backlog closing iteration cancellations record unique batches slots moves moves-open

local bid = text()
refuse(wrongBatch(bid))
local batch = batchOf(bid)
if batch then
  if batch.pending > 0 then
    redis.call('HSET', batch.key, 'cancelling', 1)
    redis.call('ZADD', batchKey('hk:batches:cancelling'), string.format('%d', now), bid)
  end
  redis.call('HDEL', batch.key, 'job')
  local job = batch.job and cjson.decode(batch.job)
  if job then keepEnd(job, 'cancelled') end
  if job and batch.parent then changeMember(batch.parent, job.jid, 'failed', job.note) end
end
finish(channel)
