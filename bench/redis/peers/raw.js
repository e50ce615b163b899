// The floor: a list, and a blocking pop for each slot. What is popped is lost when the process dies.
import Redis from 'ioredis'

const LIST = 'queue'
/** As long as a job of Sidekiq's format. */
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

export function producer(url) {
  const redis = new Redis(url)
  return {
    add: (args) => redis.lpush(LIST, textOf(args)),
    addBulk: (rows) => redis.lpush(LIST, ...rows.map(textOf)),
    close: () => redis.quit(),
  }
}

export async function worker(url, concurrency, handler) {
  let closing = false
  const slots = Array.from({ length: concurrency }, () => new Redis(url))
  slots.forEach(async (redis) => {
    while (!closing) {
      const answer = await redis.brpop(LIST, 0).catch(() => null)
      if (answer) await handler(JSON.parse(answer[1]).args)
    }
  })
  await Promise.all(
    slots.map((redis) => redis.status === 'ready' || new Promise((ready) => redis.once('ready', ready))),
  )
  return {
    close() {
      closing = true
      for (const redis of slots) redis.disconnect()
    },
  }
}
