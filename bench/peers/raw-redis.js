// The floor on Redis: one loop with the shortest safe script. A call removes the jobs that are done and moves the next
// ones to the process's own list, where they stay until they are done. An empty queue is waited for by a bare BLMOVE.
import { setTimeout as sleep } from 'node:timers/promises'

import { versionOf } from '../core/install.js'

const SCRIPT = `
redis.call('DEL', KEYS[1])
local all = {}
for i = 2, #KEYS do
  local jobs = redis.call('RPOP', KEYS[i], ARGV[1] - #all)
  if jobs then
    redis.call('LPUSH', KEYS[1], unpack(jobs))
    for j = 1, #jobs do all[#all + 1] = jobs[j] end
    if #all >= tonumber(ARGV[1]) then break end
  end
end
return all`
const connect = async (url) => new (await import('ioredis')).default(url)
const nameOf = (queue) => `queue${queue}`
const textOf = (args) =>
  JSON.stringify({
    retry: true,
    queue: 'default',
    class: 'Noop',
    args,
    jid: '0123456789abcdef01234567',
    created_at: Date.now(),
    enqueued_at: Date.now(),
  })

export default {
  name: 'raw-redis',
  title: 'Redis, one script in a loop',
  order: 9,
  store: 'redis',
  isFloor: true,
  lacks: ['delays'],
  version: () => `ioredis ${versionOf('ioredis')}`,
  async producer({ url }) {
    const redis = await connect(url)
    return {
      add: (args, { queue }) => redis.lpush(nameOf(queue), textOf(args)),
      addBulk: (rows, { queue }) => redis.lpush(nameOf(queue), ...rows.map(textOf)),
      close: () => redis.quit(),
    }
  },
  async worker({ url, queues, concurrency }, handler) {
    const redis = await connect(url)
    redis.defineCommand('settleAndFetch', { lua: SCRIPT })
    const own = `working:${process.pid}`
    const keys = [own, ...Array.from({ length: queues }, (_, queue) => nameOf(queue))]
    let closing = false
    const run = async (text) => handler(JSON.parse(text).args)
    async function loop() {
      while (!closing) {
        const texts = await redis.settleAndFetch(keys.length, ...keys, concurrency)
        if (texts.length > 0) await Promise.all(texts.map(run))
        else if (queues > 1) await sleep(1)
        else await run(await redis.blmove(keys[1], own, 'RIGHT', 'LEFT', 0))
      }
      await redis.del(own)
      await redis.quit()
    }
    const ended = loop().catch((error) => {
      if (!closing) throw error
    })
    return {
      close() {
        closing = true
        // The loop may be in BLMOVE, which nothing else ends.
        const timer = setTimeout(() => redis.disconnect(), 200)
        return ended.finally(() => clearTimeout(timer))
      },
    }
  },
  async queued({ admin }, { queues }) {
    const lists = [...Array.from({ length: queues }, (_, queue) => nameOf(queue)), ...(await admin.keys('working:*'))]
    const lengths = await Promise.all(lists.map((list) => admin.llen(list)))
    return lengths.reduce((sum, length) => sum + length, 0)
  },
}
