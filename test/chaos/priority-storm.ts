import { setTimeout as sleep } from 'node:timers/promises'
import { Highkiq } from 'highkiq'
import { chance } from '../conformance/chance.js'
import { quiet } from './seed-workers.js'
import { awaitedLater, type StormOutcome, untilIdle } from './seeds.ts'
import type { SeedCrew } from './shared-crew.ts'

const QUEUES = ['a', 'b']
/** The steps that store jobs, and the jobs of each. */
const STEPS = 20
const AT_ONCE = 12

interface Fetched {
  queue: string
  n: number
  crashes: number
}

/** Pushes jobs of all priorities while workers are killed. Some jobs fail at first, some are scheduled. */
export async function priorityStorm(url: string, seed: number, crew: SeedCrew): Promise<StormOutcome> {
  const random = chance(seed)
  const hq = new Highkiq({ url, logger: quiet })
  const wrong: string[] = []
  const pushed: string[] = []
  const ran = new Set<number>()
  const happened = { mixed: 0, again: 0 }
  crew.onOutput = (line) => {
    const [what = ''] = line.split(' ', 1)
    const about = JSON.parse(line.slice(what.length))
    if (what === 'ran') {
      const [queue, n] = about as [string, number]
      ran.add(n)
      if (queue !== pushed[n]) wrong.push(`job ${n} of ${pushed[n]} ran as one of ${queue}`)
      return
    }
    const fetched = about as Fetched[]
    if (!isInOrder(fetched)) wrong.push(`fetched in a wrong order: ${JSON.stringify(fetched)}`)
    if (new Set(fetched.map(({ queue }) => queue)).size > 1) happened.mixed++
    happened.again += fetched.filter(({ crashes }) => crashes > 0).length
  }
  const pushSome = () =>
    hq.batch({}, async () => {
      for (let i = 0; i < AT_ONCE; i++) {
        const name = QUEUES[Math.floor(random() * QUEUES.length)] as string
        const priority = random() < 0.3 ? 0 : 1 + Math.floor(random() * 9)
        const queue = priority > 0 ? `p${priority}:${name}` : name
        const n = pushed.push(queue) - 1
        const later = random() < 0.1 ? { at: Date.now() / 1000 + random() / 2 } : undefined
        await hq.push({ class: 'J', queue, args: [n], ...later })
      }
    })
  try {
    await crew.start(url)
    let isKilling = true
    const killing = awaitedLater(
      crew.killSome(url).finally(() => {
        isKilling = false
      }),
    )
    for (let n = 0; n < STEPS; n++) {
      await pushSome()
      await sleep(random() * 200)
    }
    // On a slow machine, too, processes have jobs when they are killed.
    while (isKilling) {
      await pushSome()
      await sleep(random() * 2000)
    }
    await killing
    await untilIdle(hq)
    await crew.killAll()
    const lost = pushed.flatMap((queue, n) => (ran.has(n) ? [] : [`${n} of ${queue}`]))
    if (lost.length > 0) wrong.push(`jobs did not run: ${lost}`)
    return { wrong, happened }
  } finally {
    await hq.close()
  }
}

/** Whether the jobs come in the order of their queues, and in each queue the highest priority first. */
function isInOrder(jobs: readonly Fetched[]): boolean {
  return jobs.every(({ queue }, i) => i === 0 || rankOf((jobs[i - 1] as Fetched).queue) <= rankOf(queue))
}

/** The rank of a queue's priority in the order in which a worker fetches, from 0 on. */
function rankOf(queue: string): number {
  const [, priority = '0', name = ''] = /^(?:p(\d):)?(.*)$/.exec(queue) ?? []
  return QUEUES.indexOf(name) * 10 + 9 - Number(priority)
}
