import { setTimeout as sleep } from 'node:timers/promises'
import type { Highkiq } from 'highkiq'
import { expect, test } from 'vitest'
import type { WorkerProcess } from './worker-process.ts'
import { besideRuby, type World } from './world.ts'

const JOBS = Number(process.env.HIGHKIQ_INTEROP_JOBS ?? 10_000)
/** Times that a process of ours is killed, and one of Ruby's stopped, while they work. */
const KILLS = Number(process.env.HIGHKIQ_INTEROP_KILLS ?? 0)
const QUEUES = ['ruby', 'node', 'both']
const CONCURRENCY = 5
const PUSHES_AT_ONCE = 500

besideRuby('a crowd of both languages', (world) => {
  const name = `${JOBS} jobs, pushed and worked by both at once, run once each and are counted${KILLS ? `, through ${KILLS} kills` : ''}`
  test(name, { timeout: 180_000 + JOBS * 10 + KILLS * 5000 }, async () => {
    const { redis } = world()
    const node = world().node()
    const crew = { ruby: [] as WorkerProcess[], node: [] as WorkerProcess[] }
    const hire = async (who: 'ruby' | 'node') => {
      const queues = [who, 'both']
      crew[who].push(await world()[`${who}Worker`]({ queues, concurrency: CONCURRENCY }))
    }
    await Promise.all([hire('ruby'), hire('node'), hire('node')])

    const pushing = Promise.all([pushFromNode(node.hq, JOBS / 2), pushFromRuby(world(), JOBS / 2)])
    for (let kill = 0; kill < KILLS; kill++) {
      await sleep(100 + Math.random() * 500)
      await crew.node.shift()?.end('SIGKILL')
      await hire('node')
      // Killed, it would lose what it has taken.
      await crew.ruby.shift()?.end('SIGTERM')
      await hire('ruby')
    }

    const [ours, theirs] = await pushing
    expect(new Set([...ours, ...theirs]).size).toBe(JOBS)

    // Retries would come in a quarter of a minute.
    const ran = async () => new Set((await world().reports(0)).map(({ jid }) => jid))
    const isDone = async () => (await redis.llen('ran')) >= JOBS && (await ran()).size === JOBS
    while (!(await isDone())) {
      await world().makeDue('retry')
      await sleep(100)
    }
    for (const worker of crew.ruby) await worker.end('SIGTERM')
    await node.settled()
    for (const worker of crew.node) await worker.end('SIGTERM')

    const reports = await world().reports(JOBS)
    if (KILLS) console.log(`${reports.length - JOBS} jobs ran again after ${KILLS} kills`)
    expect(await ran()).toEqual(new Set([...ours, ...theirs]))
    expect(reports.length - JOBS).toBeLessThanOrEqual(KILLS * CONCURRENCY)
    for (const queue of QUEUES) {
      const by = new Set(reports.filter(({ args }) => args[0] === queue).map(({ by }) => by))
      expect([...by].sort()).toEqual(queue === 'both' ? ['node', 'ruby'] : [queue])
    }
    const [processed, failed] = (await redis.mget('stat:processed', 'stat:failed')).map(Number) as [number, number]
    expect(processed - failed).toBe(JOBS)
    const failures = (await redis.keys('failed:*')).length
    expect(failures).toBe(JOBS / 10)
    // One that is killed at the very moment of its failure has not failed.
    expect(failures - failed).toBeLessThanOrEqual(KILLS * CONCURRENCY)
    expect(failures - failed).toBeGreaterThanOrEqual(0)
    expect(await node.hq.stats()).toMatchObject({
      enqueued: 0,
      scheduled: 0,
      retries: 0,
      dead: 0,
      busy: 0,
      processed,
      failed,
    })
    for (const worker of crew.node) expect(worker.errors).toBe('')
  })
})

/** Some of them later, and some fail the first time. */
async function pushFromNode(hq: Highkiq, n: number): Promise<(string | null)[]> {
  const push = (i: number) => {
    const queue = QUEUES[i % 3] as string
    const request = { class: i % 10 === 8 ? 'Once' : 'Quick', args: [queue, i], queue }
    return hq.push(i % 10 === 7 ? { ...request, at: Date.now() / 1000 + (i % 1000) / 1000 } : request)
  }
  const jids: (string | null)[] = []
  for (let from = 0; from < n; from += PUSHES_AT_ONCE) {
    const some = Array.from({ length: Math.min(PUSHES_AT_ONCE, n - from) }, (_, i) => push(from + i))
    jids.push(...(await Promise.all(some)))
  }
  return jids
}

function pushFromRuby({ ruby }: World, n: number): Promise<string[]> {
  return ruby.run(
    `
      args["n"].times.map do |i|
        queue = args["queues"][i % 3]
        job = {"class" => i % 10 == 8 ? Once : Quick, "args" => [queue, i], "queue" => queue}
        job["at"] = Time.now.to_f + (i % 1000) / 1000.0 if i % 10 == 7
        Sidekiq::Client.push(job)
      end
    `,
    { n, queues: QUEUES },
  )
}
