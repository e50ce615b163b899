// Raw commands on Redis: one loop with the shortest safe script. A call removes a list of jobs that are done and moves
// up to 100 jobs to that list, where they stay until they are done. The loop has two such lists: while the jobs of one
// run, the call for the other is on its way. On an empty queue it waits with BLMOVE.
import { setTimeout as sleep } from 'node:timers/promises'
import { versionOf } from '../core/install.js'
import { redisMissing } from '../core/programs.js'
import { runAll } from '../core/roles.js'

/** The most jobs that a call fetches. */
const BATCH = 100

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
  unavailable: redisMissing,
  isRaw: true,
  isFast: true,
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
    const own = [0, 1].map((i) => `working:${process.pid}:${i}`)
    const names = Array.from({ length: queues }, (_, queue) => nameOf(queue))
    let closing = false
    let isWaiting = false
    const fetch = (list) => redis.settleAndFetch(queues + 1, own[list], ...names, BATCH)
    const run = (texts) => runAll(texts, concurrency, (text) => handler(JSON.parse(text).args))
    async function wait(list) {
      if (queues > 1) return sleep(1, [])
      isWaiting = true
      const text = await redis.blmove(names[0], own[list], 'RIGHT', 'LEFT', 0)
      isWaiting = false
      return [text]
    }
    async function loop() {
      let list = 0
      let texts = await fetch(list)
      while (!closing) {
        const other = fetch(1 - list)
        await run(texts)
        const wasEmpty = texts.length === 0
        texts = await other
        list = 1 - list
        // After two empty answers no list has jobs that are done.
        if (wasEmpty && texts.length === 0 && !closing) texts = await wait(list)
      }
      await run(texts)
      await redis.del(...own)
      await redis.quit()
    }
    const ended = loop().catch((error) => {
      if (!closing) throw error
    })
    return {
      close() {
        closing = true
        // Nothing else ends a BLMOVE.
        if (isWaiting) redis.disconnect()
        return ended
      },
    }
  },
  async queued({ admin }, { queues }) {
    const lists = [...Array.from({ length: queues }, (_, queue) => nameOf(queue)), ...(await admin.keys('working:*'))]
    const lengths = await Promise.all(lists.map((list) => admin.llen(list)))
    return lengths.reduce((sum, length) => sum + length, 0)
  },
}
