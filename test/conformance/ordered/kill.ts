import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { type Bench, type Case, pause } from '../bench.ts'
import { CLOCK } from '../workers/stories.js'
import { type Intent, inPairs, startVictim } from '../workers/victims.ts'
import { workOff } from './check.ts'
import { OrderedQueue } from './ordered-queue.ts'

const VICTIM = fileURLToPath(new URL('./ordered-victim.js', import.meta.url))
/** The victim's calls after which it dies; those before only prepare. */
const FIRST = 5
const LIFE = 18
const CHURNS = 4

/** A process that dies leaves every payload in one place. */
export const orderedKill: Case[] = [
  {
    name: '[31] [39] [40] a process killed between any two calls leaves every payload in exactly one place',
    shared: true,
    seconds: 120,
    async run(t) {
      await inPairs(
        Array.from({ length: LIFE }, (_, i) => i + FIRST),
        async (k) => {
          const url = await t.emptyStore()
          const lines = await startVictim(t, url, 'life', k, t.seed, VICTIM).lines
          expect(lines.at(-1)).toEqual({ at: 'done', call: k })
          await inspect(t, url, lines)
        },
      )
    },
  },
  {
    name: '[31] a process killed at any moment leaves every payload in exactly one place',
    shared: true,
    seconds: 120,
    async run(t) {
      const waits = Array.from({ length: CHURNS }, () => 50 + t.dice(400))
      await inPairs(waits, async (ms, i) => {
        const url = await t.emptyStore()
        const victim = startVictim(t, url, 'churn', 0, t.seed + i, VICTIM)
        await Promise.race([victim.begun, victim.lines])
        await pause(ms)
        victim.process.kill('SIGKILL')
        await inspect(t, url, await victim.lines)
      })
    },
  },
]

/** What a dead victim left: each payload once, and it runs once. */
async function inspect(t: Bench, url: string, lines: Intent[]): Promise<void> {
  const store = await t.another(url)
  const through = new Set(lines.filter(({ at }) => at === 'done').map(({ call }) => call))
  const [pushed, perhaps, ended] = [new Set<string>(), new Set<string>(), new Set<string>()]
  for (const line of lines) {
    if (line.at !== 'intend') continue
    const { pushes = [], ends = [] } = line.does
    for (const payload of pushes) (through.has(line.call) ? pushed : perhaps).add(payload)
    for (const payload of ends) (through.has(line.call) ? ended : perhaps).add(payload)
  }

  for (const { owner, claimed } of await store.workers.leases())
    if (!claimed) expect(await store.workers.claim(owner)).toBe(true)
  if (!(await store.ordered.assignments('o'))) return expect(pushed.size).toBe(0)
  const queue = new OrderedQueue({ ...t, store }, 'o')
  queue.now = CLOCK / 1000
  while ((await store.ordered.moveShards(queue.name)) > 0);
  const heir = await queue.member()
  await heir.ownAll(1000)
  const morgue = await store.ordered.morgue(queue.name, 'id', { limit: 1000 })
  const dead = morgue.flatMap(({ payloads }) => payloads.map(([text]) => text))
  const waiting = (await queue.all('id')).flatMap(({ payloads }) => payloads.map(([text]) => text))
  expect(await queue.busy()).toEqual([])
  const found = [...dead, ...waiting]
  expect(new Set(found).size, 'payloads in two places').toBe(found.length)
  const isKnown = (payload: string) => pushed.has(payload) || perhaps.has(payload)
  expect(
    found.filter((payload) => !isKnown(payload)),
    'payloads of nobody',
  ).toEqual([])
  const lost = [...pushed].filter((payload) => !found.includes(payload) && !ended.has(payload) && !perhaps.has(payload))
  expect(lost, 'lost payloads').toEqual([])
  expect(
    found.filter((payload) => ended.has(payload)),
    'payloads that are back',
  ).toEqual([])

  await store.ordered.resurrect(
    queue.name,
    morgue.map(({ id }) => id),
    queue.ms,
  )
  const ran = (await workOff(heir)).flatMap(({ payloads }) => payloads.map(([text]) => text))
  expect(ran.sort()).toEqual(found.sort())
}
