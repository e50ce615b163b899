import { Highkiq, type HighkiqOptions, type JobContext } from 'highkiq'
import { drainAll, fake, inline } from 'highkiq/testing'
import { expect, onTestFinished, test } from 'vitest'
import { all, bench, Collector, until } from './bench.ts'

const one = Buffer.alloc(32, 1)
const two = Buffer.alloc(32, 2)
const encryption = { keys: { 1: one }, active: 1 }
const SECRET = 'DE02 1203 0000 0000 2020 51'
const SEALED = /^hk1\.\d+\.[\w-]{38,}$/

/** An app with a job that takes a secret, on a store of its own or on that of `url`. */
function withSecret(options: HighkiqOptions = {}) {
  const b = bench({ encryption, ...options })
  const seen = new Collector<unknown[]>()
  const Pay = b.hq.job('Pay', { encrypt: true, retryIn: 0 }, async (ctx, id: number, iban: unknown) => {
    seen.add([id, iban, ctx.attempt])
  })
  return { ...b, seen, Pay }
}

test('the last argument is stored encrypted, and the handler gets it in plain text', async () => {
  const { seen, Pay, queue, work, hq } = withSecret()
  await Pay.performAsync(1, { iban: SECRET, big: 2n ** 60n })
  await Pay.performBulk([
    [2, SECRET],
    [3, SECRET],
  ])
  await Pay.performIn(0.01, 4, null)
  const stored = await queue()
  expect(stored.map(({ args, encrypt }) => [args[0], args[1], encrypt])).toEqual(
    expect.arrayContaining([1, 2, 3].map((id) => [id, expect.stringMatching(SEALED), true])),
  )
  // Equal arguments have different texts.
  expect(new Set(stored.map(({ args }) => args[1])).size).toBe(stored.length)
  for (const job of (await hq.queue('default').page()).items) {
    expect(job.text).not.toContain('DE02')
    expect(job.displayArgs).toEqual([expect.any(Number), '[encrypted]'])
  }
  await work()
  expect((await seen.atLeast(4)).sort(([a], [b]) => Number(a) - Number(b))).toEqual([
    [1, { iban: SECRET, big: 2n ** 60n }, 1],
    [2, SECRET, 1],
    [3, SECRET, 1],
    [4, null, 1],
  ])
})

test('a retry, the dead set, error handlers and logs have it encrypted', async () => {
  const { hq, work, set, errors, log } = withSecret({ random: () => 0 })
  const deaths: unknown[] = []
  hq.onDeath((payload) => deaths.push(payload.args))
  let runs = 0
  const Fail = hq.job(
    'Fail',
    { encrypt: true, retry: 1, retryIn: 0 },
    async (ctx: JobContext, _id: number, iban: string) => {
      runs++
      expect(iban).toBe(SECRET)
      expect(ctx.payload.args[1]).toMatch(SEALED)
      throw new Error('broken')
    },
  )
  await Fail.performAsync(1, SECRET)
  await work({ logJobs: true })
  await until(async () => (await set('dead')).length === 1)
  expect(runs).toBe(2)
  expect((await set('dead'))[0]?.args).toEqual([1, expect.stringMatching(SEALED)])
  const told = JSON.stringify([deaths, errors.map(({ about }) => about), log.lines])
  expect(told).toContain('hk1.1.')
  expect(told).not.toContain('DE02')
})

test('keys rotate: the active one encrypts, and older ones decrypt', async () => {
  const old = withSecret()
  await old.Pay.performAsync(1, SECRET)
  const { seen, Pay, queue, work } = withSecret({ url: old.url, encryption: { keys: { 1: one, 2: two }, active: 2 } })
  await Pay.performAsync(2, SECRET)
  expect((await queue()).map(({ args }) => String(args[1]).slice(0, 6)).sort()).toEqual(['hk1.1.', 'hk1.2.'])
  await work()
  expect((await seen.atLeast(2)).map(([, iban]) => iban)).toEqual([SECRET, SECRET])
})

test('an argument that client middleware replaces when the job is due is encrypted, too', async () => {
  const { hq, Pay, seen, clock, work, queue } = withSecret()
  await Pay.performIn(60, 1, SECRET)
  hq.client.use(async (payload, next) => {
    payload.args = [2, `${SECRET}!`]
    return next()
  })
  await hq.queue('default').pause()
  clock.ahead = 120
  await work()
  await until(async () => (await queue()).length === 1)
  expect((await queue())[0]?.args).toEqual([2, expect.stringMatching(SEALED)])
  await hq.queue('default').resume()
  expect(await seen.atLeast(1)).toEqual([[2, `${SECRET}!`, 1]])
})

test('an argument that another program encrypted stays as it is when its job is due', async () => {
  const { hq, work, queue, clock } = bench()
  hq.client.use((payload, next) => {
    payload.args[0] = 2
    return next()
  })
  const text = '{"class":"Ruby","args":[1,"BAhzb21lIG90aGVyIGNpcGhlcg=="],"jid":"a","queue":"default","encrypt":true}'
  await hq.scheduled.schedule(60, text)
  await hq.queue('default').pause()
  clock.ahead = 120
  await work()
  await until(async () => (await queue()).length === 1)
  expect((await queue())[0]?.args).toEqual([2, 'BAhzb21lIG90aGVyIGNpcGhlcg=='])
})

test('a missing key fails the attempt and keeps the job for a retry, which runs once the key is there', async () => {
  const old = withSecret()
  await old.Pay.performAsync(1, SECRET)
  const asked: number[] = []
  const keys = new Map([[2, two]])
  const { seen, work, errors } = withSecret({
    url: old.url,
    encryption: {
      keys: (version) => {
        asked.push(version)
        return keys.get(version)
      },
      active: 2,
    },
  })
  await work()
  await until(() => errors.length === 1)
  expect(errors[0]?.error).toMatchObject({
    code: 'DECRYPTION_FAILED',
    message: 'Pay: the last argument needs key 1, which this app does not have: add it to the option encryption.keys',
  })
  keys.set(1, one)
  expect(await seen.atLeast(1)).toEqual([[1, SECRET, expect.any(Number)]])
  // The active key is asked for at the start.
  expect(asked[0]).toBe(2)
})

test("an encrypted argument can't be moved to another job, changed, or read with another key", async () => {
  const { hq, Pay, queue, raw, work, errors } = withSecret()
  hq.job('Other', { encrypt: true, retry: 0 }, async (_ctx, _id: number, _iban: string) => {})
  await hq.queue('default').pause()
  const jid = await Pay.performAsync(1, SECRET)
  const [job] = await queue()
  const sealed = String(job?.args[1])
  const text = (change: object) => JSON.stringify({ ...job, retry: 0, ...change })
  await hq.queue('default').clear()
  await hq.queue('default').resume()
  await raw(text({ class: 'Other' }))
  await raw(text({ jid: 'b'.repeat(24) }))
  await raw(text({ args: [1, `${sealed.slice(0, -2)}AA`] }))
  await raw(text({ args: [1, sealed.replace('hk1.1.', 'hk1.2.')] }))
  await raw(text({ args: [1, SECRET] }))
  await raw(text({ args: [] }))
  await work()
  await until(() => errors.length === 6)
  const said = errors.map(({ error }) => error.message.replace(/^(Pay|Other): the last argument /, ''))
  expect(said.sort()).toEqual(
    [
      ...Array(3).fill(
        'does not match key 1: the key is another one, or the argument was changed or moved here from another job',
      ),
      ...Array(2).fill('is not encrypted by Highkiq: push the job again'),
      'needs key 2, which this app does not have: add it to the option encryption.keys',
    ].sort(),
  )
  expect(errors.every(({ error }) => error.code === 'DECRYPTION_FAILED')).toBe(true)
  expect(jid).toBeTruthy()
})

test('rows of a task are encrypted one by one, bound to their task', async () => {
  const { hq, Pay, seen, queue, work } = withSecret()
  const task = await hq.tasks.create(
    Pay,
    [
      [1, SECRET],
      [2, SECRET],
    ],
    { keepArgs: 'all' },
  )
  expect((await queue()).map(({ args }) => args[1])).toEqual(Array(2).fill(expect.stringMatching(SEALED)))
  await work()
  await task.wait()
  expect((await seen.atLeast(2)).map(([, iban]) => iban)).toEqual([SECRET, SECRET])
  const events = await all(task.events())
  expect(events.map(({ args }) => args)).toEqual([
    [1, '[encrypted]'],
    [2, '[encrypted]'],
  ])
})

test('a corrected row keeps the encrypted argument that its report does not show', async () => {
  const { hq, work } = withSecret()
  const seen = new Collector<unknown[]>()
  const Refund = hq.job('Refund', { encrypt: true, retry: false }, async (_ctx, id: number, iban: string) => {
    seen.add([id, iban])
    if (id < 10) throw new Error('too small')
  })
  const task = await hq.tasks.create(Refund, [
    [1, SECRET],
    [2, SECRET],
  ])
  await work()
  await task.wait()
  for (const format of ['csv', 'xlsx', 'ndjson'] as const) {
    const report = Buffer.from(await new Response(await task.report({ format })).arrayBuffer())
    expect((await task.retry({ report })).unchanged).toBe(2)
    await task.wait()
  }
  await task.retry({ rows: [{ index: 0, args: [11, '[encrypted]'] }] })
  await task.wait()
  const text = await new Response(await task.report({ format: 'ndjson' })).text()
  expect(text).toContain('[2,')
  await task.retry({ report: Buffer.from(text.replace('[2,', '[12,')) })
  await task.wait()
  const ran = [1, 1, 1, 1, 2, 2, 2, 2, 11, 12].map((id) => [id, SECRET])
  expect((await seen.atLeast(ran.length)).toSorted(([a], [b]) => Number(a) - Number(b))).toEqual(ran)
  expect((await task.status())?.counts.finished).toBe(2)
})

test('neither a cron entry nor an entry that is put into a set has it in plain text', async () => {
  const { hq, Pay, seen, work, clock } = withSecret()
  const cron = hq.cron('monthly', '0 3 1 * *', Pay, { args: [1, SECRET] })
  expect(() => hq.cron('wrong', '0 3 1 * *', Pay, { args: [1, new Date()] })).toThrow('args[1] is a Date')
  await cron.runNow()
  expect((await cron.known()).args).toBeNull()
  await hq.scheduled.schedule(60, { class: 'Pay', args: [2, SECRET], encrypt: true })
  const [definition] = await hq.store.crons.list()
  const [entry] = (await hq.scheduled.page()).items
  expect(`${definition?.text}${entry?.text}`).not.toContain('DE02')
  expect(entry?.displayArgs).toEqual([2, '[encrypted]'])
  // An entry that was read can be put back.
  const popped: unknown[] = []
  await hq.scheduled.popEach(({ payload }) => popped.push(payload))
  await hq.scheduled.schedule(60, popped[0] as never)
  clock.ahead = 120
  await work()
  expect((await seen.atLeast(2)).map(([id, iban]) => [id, iban]).sort()).toEqual([
    [1, SECRET],
    [2, SECRET],
  ])
})

test('a callback of a task gets the task and the run, although its job encrypts', async () => {
  const { hq, work } = withSecret()
  const seen = new Collector<unknown>()
  const J = hq.job('J', async (_ctx, _n: number) => {})
  const Done = hq.job('Done', { encrypt: true }, async (_ctx, task: string, run: number) => seen.add([task, run]))
  const task = await hq.tasks.create(J, [[1]], { onDone: Done })
  await work()
  expect(await seen.atLeast(1)).toEqual([[task.id, 1]])
})

test('lists of rows are refused, because reports would show them', async () => {
  const { hq, Pay } = withSecret()
  await expect(hq.tasks.create(Pay as never, [[1, SECRET]], { rowsPerJob: 2 } as never)).rejects.toThrow(
    "Pay: encrypt can't be combined with rowsPerJob or with rows of a file",
  )
})

test('a job of one argument is refused, and so is encrypt without keys', async () => {
  const { hq, Pay } = withSecret()
  await expect(hq.push({ class: 'Pay', args: [SECRET] })).rejects.toMatchObject({
    code: 'INVALID_ARGS',
    message:
      'Pay: encrypt encrypts the last argument, and needs at least two (got 1): pass what may be shown, for instance an id, before it',
  })
  await expect(hq.push({ class: 'X', args: [1, 2], encrypt: 'yes' as never })).rejects.toThrow(
    'X: encrypt must be true or false',
  )
  // A push may do without.
  await Pay.set({ encrypt: false }).performAsync(1, 'shown')
  expect((await hq.queue('default').page()).items[0]?.displayArgs).toEqual([1, 'shown'])

  const without = bench({ url: 'sqlite::memory:' })
  const message = 'encrypt needs keys: new Highkiq({ encryption: { keys: { 1: key }, active: 1 } })'
  expect(() => without.hq.job('Pay', { encrypt: true }, async () => {})).toThrow(`Pay: ${message}`)
  await expect(without.hq.push({ class: 'Ruby', args: [1, 2], encrypt: true })).rejects.toThrow(`Ruby: ${message}`)
})

test('an app without keys says so when it gets an encrypted job', async () => {
  const { Pay, url } = withSecret()
  await Pay.performAsync(1, SECRET)
  const { hq, work, errors } = bench({ url })
  hq.job('Pay', async () => {})
  await work()
  await until(() => errors.length === 1)
  expect(errors[0]?.error).toMatchObject({
    code: 'DECRYPTION_FAILED',
    message: 'Pay: the last argument is encrypted, and this app has no keys: give it the option encryption',
  })
})

test('wrong keys are refused when the app is created, and no message shows a key', () => {
  const make = (options: unknown) => () => {
    const hq = new Highkiq({ url: 'sqlite::memory:', encryption: options as never })
    onTestFinished(() => hq.close())
  }
  const hex = 'ab'.repeat(32)
  make({ keys: { 1: hex, 2: one.toString('base64'), 3: new Uint8Array(32) }, active: 3 })()
  make({ keys: () => one, active: 7 })()
  const size =
    'must be 32 bytes, or a string of them in base64 or of 64 hexadecimal digits (got 16 bytes). Make one with: openssl rand -base64 32'
  expect(make({ keys: { 1: one, 2: Buffer.alloc(16) }, active: 1 })).toThrow(`new Highkiq: encryption: key 2 ${size}`)
  expect(make({ keys: () => Buffer.alloc(16).toString('base64'), active: 1 })).toThrow(`key 1 ${size}`)
  expect(make({ keys: { 1: 'not a key!' }, active: 1 })).toThrow('(got another string)')
  expect(make({ keys: { 1: one }, active: 2 })).toThrow('active is 2, and there is no key of that version')
  expect(make({ keys: { one }, active: 1 })).toThrow('there is no key of that version')
  expect(make({ keys: { 1: one, two }, active: 1 })).toThrow('the versions of keys must be whole numbers above 0')
  expect(make({ keys: { 1: one } })).toThrow('keys and active must be given')
  expect(make({ keys: { 1: one }, active: 0 })).toThrow(
    'active must be the version of a key, a whole number above 0 (got 0)',
  )
  expect(make({ keys: { 1: one }, active: 1, cipher: 'x' })).toThrow('there is no option cipher')
})

test('test modes and performInline have the argument in plain text', async () => {
  const { hq, Pay, seen } = withSecret()
  await fake(hq, async () => {
    await Pay.performAsync(1, SECRET)
    expect(Pay.jobs).toMatchObject([{ args: [1, SECRET] }])
    await drainAll(hq)
  })
  await inline(hq, () => Pay.performAsync(2, SECRET))
  await Pay.performInline(3, SECRET)
  expect(seen.all.map(([id, iban]) => [id, iban])).toEqual([1, 2, 3].map((id) => [id, SECRET]))
})
