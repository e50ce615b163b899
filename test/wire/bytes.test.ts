import fc from 'fast-check'
import { Kill, type Payload, Release, Snooze } from 'highkiq'
import { expect, test } from 'vitest'
import { editMembers, memberText } from '#dist/job/json.js'
import { type Bench, bench, until } from '../engine/bench.ts'

/** What Highkiq itself may change of a job; every other byte belongs to whoever wrote it. */
const OURS = ['queue', 'at', 'enqueued_at', 'failed_at', 'retried_at', 'retry_count', 'error_message', 'error_class']
const HK = ['hk_crashes']

const without = (text: string) =>
  editMembers(text, Object.fromEntries([...OURS, ...HK].map((name) => [name, undefined])))

// ------------------------------------------------------------------------------------------ texts as Ruby writes them

const escaped = fc.constantFrom(
  '\\u0001',
  '\\n',
  '\\"',
  '\\\\',
  '\\/',
  '\\u00e9',
  '\\ud83d\\ude00',
  '%',
  '😀',
  'č',
  '\u2028',
)
const words = fc.array(fc.oneof(fc.string({ unit: 'grapheme', maxLength: 4 }).map(inner), escaped), { maxLength: 5 })
const quoted = words.map((parts) => `"${parts.join('')}"`)
const number = fc.oneof(
  fc.constantFrom(
    '0',
    '-0',
    '-0.0',
    '1.0',
    '1.0e+20',
    '1.0e-05',
    '1e3',
    '1.50',
    '9007199254740993',
    '1.7976931348623157e+308',
  ),
  fc.bigInt().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((one) => (/[.e]/.test(`${one}`) ? `${one}` : `${one}.0`)),
)
/** Names that JavaScript has a meaning or an order of its own for, and plain ones. */
const name = fc.oneof(
  fc.constantFrom(
    '"__proto__"',
    '"constructor"',
    '"toString"',
    '"hasOwnProperty"',
    '"1"',
    '"10"',
    '"02"',
    '""',
    '"\\u0061"',
  ),
  quoted,
)
const space = fc.constantFrom('', '', '', ' ', '\n ')
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    number,
    quoted,
    fc.constantFrom('true', 'false', 'null', '{}', '[]', '[ ]'),
    fc.tuple(space, fc.array(tie('value'), { maxLength: 4 })).map(([gap, items]) => `[${items.join(`,${gap}`)}]`),
    fc
      .tuple(space, fc.array(fc.tuple(name, tie('value')), { maxLength: 4 }))
      .map(([gap, members]) => `{${members.map(([key, one]) => `${key}:${gap}${one}`).join(`,${gap}`)}}`),
  ),
})) as { value: fc.Arbitrary<string> }

const unknown = fc.uniqueArray(fc.tuple(name, value), {
  maxLength: 5,
  // What the engine acts upon is not unknown.
  selector: ([key]) => JSON.parse(key) as string,
})
const times = fc.constantFrom(
  '"created_at":1723900000.0',
  '"created_at":1723900000.1234567',
  '"created_at":1723900000123',
)

/** Text of a job by its jid and class, in any order of members. */
const job = fc
  .record({
    args: fc.array(value, { maxLength: 3 }),
    times,
    unknown,
    order: fc.array(fc.nat(), { minLength: 12, maxLength: 12 }),
    gap: space,
  })
  .map(({ args, times, unknown, order, gap }) => (jid: string, name: string, more: string[] = []) => {
    const members = [
      `"class":"${name}"`,
      `"args":${gap}[${args.join(',')}]`,
      '"queue":"default"',
      `"jid":"${jid}"`,
      times,
      ...unknown.map(([key, one]) => `${key}:${one}`),
      ...more,
    ]
    const sorted = members.map((member, i) => [order[i % order.length] ?? 0, member] as const).sort(([a], [b]) => a - b)
    return `{${gap}${sorted.map(([, member]) => member).join(`,${gap}`)}${gap}}`
  })

/** What stands inside the quotes. */
function inner(text: string): string {
  return JSON.stringify(text.toWellFormed()).slice(1, -1)
}

// ---------------------------------------------------------------------------------------------------- every way to go

type Way = (t: Bench, texts: string[]) => Promise<string[]>

const ways: Record<string, { class: string; more?: string[]; go: Way }> = {
  'a retry, its promotion, a second failure and the dead set': {
    class: 'Fails',
    more: ['"retry":1'],
    async go(t, texts) {
      t.hq.job('Fails', () => {
        throw new Error('x')
      })
      for (const text of texts) await t.raw(text)
      const worker = await t.work()
      await until(async () => (await t.hq.store.jobSets.size('retry')) === texts.length)
      const retried = (await t.set('retry')).map(({ text }) => text)
      compare(texts, retried)
      t.clock.ahead = 1000
      await until(async () => (await t.hq.store.jobSets.size('dead')) === texts.length)
      await worker.stop()
      return (await t.set('dead')).map(({ text }) => text)
    },
  },
  'a schedule, with `at` left inside': {
    class: 'Later',
    more: ['"at":1723900000.5'],
    go: (t, texts) => promoted(t, texts, 'default'),
  },
  'a schedule, through client middleware': {
    class: 'Later',
    async go(t, texts) {
      t.hq.client.use(async (_payload, next) => ({ ...(await next()), queue: 'other' }) as Payload)
      t.hq.client.use((payload, next) => {
        payload.queue = 'another'
        return next()
      })
      return promoted(t, texts, 'other')
    },
  },
  'a snooze': {
    class: 'Snoozes',
    async go(t, texts) {
      t.hq.job('Snoozes', () => {
        throw new Snooze(1000)
      })
      for (const text of texts) await t.raw(text)
      await t.work()
      await until(async () => (await t.hq.store.jobSets.size('schedule')) === texts.length)
      return (await t.set('schedule')).map(({ text }) => text)
    },
  },
  'a kill': {
    class: 'Kills',
    async go(t, texts) {
      t.hq.job('Kills', () => {
        throw new Kill()
      })
      for (const text of texts) await t.raw(text)
      await t.work()
      await until(async () => (await t.hq.store.jobSets.size('dead')) === texts.length)
      return (await t.set('dead')).map(({ text }) => text)
    },
  },
  'a release, and a stop that puts it back': {
    class: 'Waits',
    async go(t, texts) {
      const released = new Set<string>()
      t.hq.job('Waits', async (ctx) => {
        if (released.has(ctx.jid)) return new Promise((_, reject) => ctx.signal.addEventListener('abort', reject))
        released.add(ctx.jid)
        throw new Release()
      })
      for (const text of texts) await t.raw(text)
      const worker = await t.work({ concurrency: 100, timeout: 0.001 })
      await until(() => released.size === texts.length && worker.busy === texts.length)
      await worker.stop()
      return t.hq.store.jobs.peek('default', 0, 1000)
    },
  },
  'the death of its process': {
    class: 'Crashes',
    async go(t, texts) {
      for (const text of texts) await t.raw(text)
      const dead = 'dead:1:a.0'
      await t.hq.store.workers.join(dead, { queues: ['default'], seconds: 60, host: 'elsewhere' })
      const nothing = { now: Date.now(), started: [], settlements: [] }
      await t.hq.store.workers.settleAndFetch(dead, { ...nothing, fetch: { queues: ['default'], n: 100 } })
      await t.hq.store.workers.claim(dead)
      await t.work({ queues: ['idle'] })
      await until(async () => (await t.hq.stats()).enqueued === texts.length)
      return t.hq.store.jobs.peek('default', 0, 1000)
    },
  },
}

/** As they stand in their queue after the schedule. */
async function promoted(t: Bench, texts: string[], queue: string): Promise<string[]> {
  const now = Date.now()
  await t.hq.store.jobs.push(
    texts.map((text) => ({ to: 'schedule' as const, text, score: now / 1000 })),
    now,
  )
  await t.work({ queues: ['idle'] })
  await until(async () => (await t.hq.store.jobSets.size('schedule')) === 0)
  return t.hq.store.jobs.peek(queue, 0, 1000)
}

function compare(before: string[], after: string[]): void {
  const byJid = (texts: string[]) => new Map(texts.map((text) => [memberText(text, 'jid'), text.trimEnd()]))
  const [given, found] = [byJid(before), byJid(after)]
  expect([...found.keys()].sort()).toEqual([...given.keys()].sort())
  for (const [jid, text] of given) {
    const now = found.get(jid) ?? ''
    expect(without(now)).toBe(without(text))
    expect(() => JSON.parse(now)).not.toThrow()
  }
}

test.each(Object.entries(ways))('%s keeps every byte that it need not change', { timeout: 180_000 }, async (_, way) => {
  await fc.assert(
    fc.asyncProperty(fc.array(job, { minLength: 20, maxLength: 40 }), async (jobs) => {
      const t = bench()
      const texts = jobs.map((text, i) => text(`jid-${i}`, way.class, way.more))
      try {
        compare(texts, await way.go(t, texts))
      } finally {
        await t.hq.close()
      }
    }),
    { numRuns: 3, endOnFailure: true },
  )
})
