import { expect } from 'vitest'
import type {
  BatchJob,
  BatchRecord,
  BatchSpec,
  ChildFailure,
  Effect,
  MemberChange,
  NewMember,
  ParentJob,
  PushItem,
} from '#dist/store/contract.js'
import { type Bench, type Case, done, NOW, release, retry, sure, toQueue } from '../bench.ts'

const DAY = 86_400_000

function idOf(n: number | string): string {
  return Buffer.from(`${n}`.padStart(8, '0')).toString('hex')
}

/** A job that a batch pushes to a queue of its own name. */
function callback(name: string, more: object = {}): BatchJob {
  return { jid: name, queue: name, text: JSON.stringify({ class: 'Callback', args: [name], jid: name, ...more }) }
}

function waiting(onChildFailure: ChildFailure, more: Partial<ParentJob> = {}): ParentJob {
  return { ...callback('parent'), onChildFailure, failure: '"error_message":"no"', ...more }
}

function batch(n: number | string, more: Partial<BatchSpec> = {}): BatchSpec {
  const none = { parent: null, onComplete: null, onSuccess: null, onDeath: null, job: null }
  return { bid: idOf(n), meta: '{"é":1}', keep: DAY, createdAt: NOW, ...none, ...more }
}

const ALL = { onComplete: callback('complete'), onSuccess: callback('success'), onDeath: callback('death') }

function member(t: Bench, n: number | string, id: string): NewMember {
  return { bid: idOf(n), id, item: toQueue('q', t.job(id, { bid: idOf(n) })) }
}

/** A member that needs locks. */
function unique(t: Bench, n: number | string, id: string, keys = ['k'], onConflict?: 'raise'): NewMember {
  const item = toQueue('q', t.job(id, { bid: idOf(n) }))
  return { bid: idOf(n), id, item: { ...item, unique: { jid: id, claims: keys.map((key) => ({ key })) } }, onConflict }
}

/** Returns the holders of locks. */
async function holders(t: Bench, ...keys: string[]): Promise<(string | null)[]> {
  return (await t.store.unique.find(keys, NOW)).map((lock) => lock?.holder ?? null)
}

function effect(n: number | string, id: string, change: MemberChange, text?: string): Effect & { kind: 'batch' } {
  return { kind: 'batch', bid: idOf(n), member: id, change, ...(text ? { note: { key: id, text } } : {}) }
}

async function change(t: Bench, ...changes: Parameters<typeof effect>[]): Promise<void> {
  await t.store.batches.apply(
    changes.map((one) => effect(...one)),
    NOW + 1,
  )
}

const find = async (t: Bench, n: number | string): Promise<BatchRecord> => sure(await t.store.batches.find(idOf(n)))

/** Returns how often each callback was pushed. */
async function pushed(t: Bench): Promise<Record<string, number>> {
  const queues = ['complete', 'success', 'death', 'inner', 'parent']
  const sizes = await t.store.jobs.queues(queues)
  return Object.fromEntries(sizes.filter(({ size }) => size > 0).map(({ name, size }) => [name, size]))
}

/** Returns the open members of a batch. */
async function open(t: Bench, n: number | string): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  let after: string | undefined
  do {
    const { items, next } = await t.store.batches.members(idOf(n), { after, limit: 500 })
    for (const { id, state } of items) found[id] = state
    after = next ?? undefined
  } while (after !== undefined)
  return found
}

/** Returns the batches that are being cancelled, read in pages of one. */
async function cancelling(t: Bench): Promise<string[]> {
  const found = new Set<string>()
  let after: string | undefined
  do {
    const { items, next } = await t.store.batches.cancelling({ after, limit: 1 })
    for (const bid of items) found.add(bid)
    after = next ?? undefined
  } while (after !== undefined)
  return [...found].toSorted()
}

export const batches: Case[] = [
  {
    name: 'a batch and its jobs are stored together, and a repeated creation changes nothing',
    async run(t) {
      const push = { batches: [batch(1, ALL)], members: [member(t, 1, 'a'), member(t, 1, 'b')] }
      expect(await t.store.batches.push(push, NOW)).toEqual([])
      expect(await t.store.batches.push(push, NOW)).toBe('exists')
      expect(await t.waiting('q')).toHaveLength(2)
      const counts = { total: 2, pending: 2, retrying: 0, dead: 0, failed: 0, succeeded: 0 }
      const times = { createdAt: NOW, progressAt: NOW, completedAt: null, succeededAt: null, diedAt: null }
      const about = {
        bid: idOf(1),
        parent: null,
        depth: 1,
        cancelling: false,
        meta: '{"é":1}',
        keep: DAY,
        job: null,
        ...ALL,
      }
      expect(await find(t, 1)).toEqual({ ...about, ...counts, ...times })
      expect(await open(t, 1)).toEqual({ a: 'waiting', b: 'waiting' })
      expect(await t.store.batches.find(idOf(2))).toBe(null)
      expect(await pushed(t)).toEqual({})
    },
  },
  {
    name: 'the settlement of the last job pushes the callbacks, each once, with the time of their push',
    async run(t) {
      const members = [member(t, 1, 'a'), member(t, 1, 'b')]
      await t.store.batches.push({ batches: [batch(1, ALL)], members }, NOW)
      const owner = await t.owner()
      const [a, b] = await t.fetch(owner, 'q', 2)
      await t.settleAndFetch(owner, { settlements: [done(a, { effects: [effect(1, 'a', 'succeeded')] })] })
      expect(await pushed(t)).toEqual({})
      const last = done(b, { effects: [effect(1, 'b', 'succeeded')] })
      await t.settleAndFetch(owner, { settlements: [last], now: NOW + 5 })
      await t.settleAndFetch(owner, { settlements: [last] })
      expect(await pushed(t)).toEqual({ complete: 1, success: 1 })
      const [text] = await t.waiting('success')
      expect(JSON.parse(text)).toEqual({ class: 'Callback', args: ['success'], jid: 'success', enqueued_at: NOW + 5 })
      expect(await find(t, 1)).toMatchObject({ pending: 0, succeeded: 2, completedAt: NOW + 5, succeededAt: NOW + 5 })
      expect(await open(t, 1)).toEqual({})
    },
  },
  {
    name: 'a fenced settlement changes no batch, and the rescue of its job does',
    async run(t) {
      await t.store.batches.push({ batches: [batch(1, ALL)], members: [member(t, 1, 'a')] }, NOW)
      const owner = await t.owner()
      const [a] = await t.fetch(owner, 'q')
      await t.store.workers.claim(owner)
      await t.settleAndFetch(owner, { settlements: [done(a, { effects: [effect(1, 'a', 'succeeded')] })] })
      expect(await find(t, 1)).toMatchObject({ pending: 1 })
      const { ticket } = a
      const to = { to: 'dead', text: a.text, score: 1 } as const
      const effects = [effect(1, 'a', 'dead')]
      expect(await t.store.workers.rescue([{ owner, queue: 'q', ticket, to, effects }], NOW)).toEqual(['ok'])
      expect(await find(t, 1)).toMatchObject({ pending: 0, dead: 1, diedAt: NOW, completedAt: NOW })
      expect(await pushed(t)).toEqual({ complete: 1, death: 1 })
    },
  },
  {
    name: 'a member is retried, dead, retried by hand, and succeeds: each change counts once',
    async run(t) {
      await t.store.batches.push({ batches: [batch(1, ALL)], members: [member(t, 1, 'a')] }, NOW)
      const owner = await t.owner()
      const [a] = await t.fetch(owner, 'q')
      await t.settleAndFetch(owner, { settlements: [retry(a, 9, { effects: [effect(1, 'a', 'retrying')] })] })
      expect(await find(t, 1)).toMatchObject({ total: 1, pending: 1, retrying: 1 })
      expect(await open(t, 1)).toEqual({ a: 'retrying' })
      for (let i = 0; i < 2; i++) await change(t, [1, 'a', 'dead'])
      expect(await find(t, 1)).toMatchObject({
        pending: 0,
        retrying: 0,
        dead: 1,
        completedAt: NOW + 1,
        succeededAt: null,
      })
      for (let i = 0; i < 2; i++) await change(t, [1, 'a', 'waiting'])
      expect(await find(t, 1)).toMatchObject({ pending: 1, retrying: 0, dead: 0 })
      await change(
        t,
        [1, 'a', 'dead'],
        [1, 'a', 'waiting'],
        [1, 'a', 'succeeded'],
        [1, 'a', 'succeeded'],
        [1, 'a', 'dead'],
      )
      expect(await find(t, 1)).toMatchObject({ total: 1, pending: 0, dead: 0, succeeded: 1, succeededAt: NOW + 1 })
      expect(await pushed(t)).toEqual({ complete: 1, success: 1, death: 1 })
      await change(t, [1, 'other', 'succeeded'], [2, 'a', 'succeeded'])
      expect(await find(t, 1)).toMatchObject({ total: 1, succeeded: 1 })
    },
  },
  {
    name: 'a member that ended without success completes the batch, which then never succeeds',
    async run(t) {
      const members = [member(t, 1, 'a'), member(t, 1, 'b')]
      await t.store.batches.push({ batches: [batch(1, ALL)], members }, NOW)
      expect(await t.store.search.clearQueue('q', ['"bid"'], 9)).toMatchObject({ removed: 0, done: true })
      const pull = (text: string, id: string) => ({ text, to: null, effects: [effect(1, id, 'failed')] })
      const [a, b] = await t.waiting('q')
      expect(await t.store.search.pull('q', [pull(a, 'a')], NOW)).toEqual(['ok'])
      await change(t, [1, 'b', 'died'])
      expect(b).toBeDefined()
      expect(await find(t, 1)).toMatchObject({ pending: 0, failed: 2, succeededAt: null, diedAt: NOW + 1 })
      expect(await pushed(t)).toEqual({ complete: 1, death: 1 })
    },
  },
  {
    name: 'a member whose id has control characters is listed, and completes its batch like any other',
    async run(t) {
      const id = 'a\0b\x01'
      await t.store.batches.push({ batches: [batch(1, ALL)], members: [member(t, 1, id), member(t, 1, 'b')] }, NOW)
      expect(await open(t, 1)).toEqual({ [id]: 'waiting', b: 'waiting' })
      await change(t, [1, id, 'succeeded'], [1, 'b', 'succeeded'])
      expect(await find(t, 1)).toMatchObject({ pending: 0, succeeded: 2 })
      expect(await pushed(t)).toEqual({ complete: 1, success: 1 })
    },
  },
  {
    name: 'a batch grows while a member is pending, and not later',
    async run(t) {
      await t.store.batches.push({ batches: [batch(1, ALL)], members: [member(t, 1, 'a')] }, NOW)
      expect(await t.store.batches.push({ batches: [], members: [member(t, 1, 'b')] }, NOW)).toEqual([])
      expect(await find(t, 1)).toMatchObject({ total: 2, pending: 2 })
      await change(t, [1, 'a', 'succeeded'], [1, 'b', 'dead'])
      const late = { batches: [batch(2)], members: [member(t, 2, 'x'), member(t, 1, 'c')] }
      expect(await t.store.batches.push(late, NOW)).toEqual({ reason: 'ended', bid: idOf(1) })
      expect(await t.store.batches.find(idOf(2))).toBe(null)
      const unknown = { batches: [], members: [member(t, 9, 'c')] }
      expect(await t.store.batches.push(unknown, NOW)).toEqual({ reason: 'unknown', bid: idOf(9) })
      expect(await t.waiting('q')).toHaveLength(2)
    },
  },
  {
    name: 'a batch refuses a member that it has, and one that comes twice in a push',
    async run(t) {
      const push = (...members: NewMember[]) => t.store.batches.push({ batches: [], members }, NOW)
      const twice = [member(t, 1, 'a'), member(t, 1, 'b'), member(t, 1, 'a')]
      const refused = { reason: 'repeated', bid: idOf(1), member: 'a' }
      expect(await t.store.batches.push({ batches: [batch(1, ALL)], members: twice }, NOW)).toEqual(refused)
      expect(await t.store.batches.find(idOf(1))).toBe(null)
      const members = [member(t, 1, 'a'), member(t, 1, 'b'), member(t, 2, 'a')]
      expect(await t.store.batches.push({ batches: [batch(1, ALL), batch(2)], members }, NOW)).toEqual([])
      expect(await push(member(t, 1, 'c'), member(t, 1, 'a'))).toEqual(refused)
      expect(await t.waiting('q')).toHaveLength(3)
      await change(t, [1, 'a', 'dead'])
      expect(await push(member(t, 1, 'a'))).toEqual(refused)
      expect(await find(t, 1)).toMatchObject({ total: 2, pending: 1, dead: 1 })
      await change(t, [1, 'a', 'succeeded'])
      expect(await push(member(t, 1, 'a'))).toEqual([])
      expect(await find(t, 1)).toMatchObject({ total: 3, pending: 2, succeeded: 1 })
    },
  },
  {
    name: 'a job whose lock another job holds is no member of the batch, and the batch ends with the others',
    async run(t) {
      await t.store.jobs.push([unique(t, 1, 'before', ['held']).item as PushItem], NOW)
      const due = { ...unique(t, 1, 'd', ['k']), id: 'd' }
      const members = [
        member(t, 1, 'a'),
        unique(t, 1, 'b', ['k']),
        unique(t, 1, 'c', ['other', 'held']),
        due,
        unique(t, 1, 'e', ['other'], 'raise'),
      ]
      const refused = [
        { item: members[2]?.item, holder: 'before', due: null },
        { item: due.item, holder: 'b', due: null },
      ]
      expect(await t.store.batches.push({ batches: [batch(1, ALL)], members }, NOW)).toEqual(refused)
      expect(await find(t, 1)).toMatchObject({ total: 3, pending: 3 })
      expect(await open(t, 1)).toEqual({ a: 'waiting', b: 'waiting', e: 'waiting' })
      expect(await holders(t, 'held', 'k', 'other')).toEqual(['before', 'b', 'e'])
      const owner = await t.owner()
      const fetched = await t.fetch(owner, 'q', 9)
      expect(fetched).toHaveLength(4)
      const settlements = fetched.slice(1).map((job, i) => {
        const id = ['a', 'b', 'e'][i] as string
        const free: Effect = { kind: 'release-unique', key: id === 'b' ? 'k' : 'other', holder: id }
        return done(job, { effects: [effect(1, id, 'succeeded'), free] })
      })
      await t.settleAndFetch(owner, { settlements })
      expect(await pushed(t)).toEqual({ complete: 1, success: 1 })
      expect(await holders(t, 'held', 'k', 'other')).toEqual(['before', null, null])
    },
  },
  {
    name: 'a batch whose every job is refused because of a lock ends at once, and so does the one around it',
    async run(t) {
      await t.store.jobs.push([unique(t, 1, 'before').item as PushItem], NOW)
      const inner = batch(2, { parent: idOf(1), onSuccess: callback('inner') })
      const nesting: NewMember = { bid: idOf(1), id: idOf(2), item: null }
      const members = [unique(t, 1, 'a'), nesting, unique(t, 2, 'b')]
      expect(await t.store.batches.push({ batches: [batch(1, ALL), inner], members }, NOW)).toHaveLength(2)
      expect(await find(t, 2)).toMatchObject({ total: 0, succeededAt: NOW })
      expect(await find(t, 1)).toMatchObject({ total: 2, pending: 1, succeeded: 1 })
      await change(t, [1, 'inner', 'succeeded'])
      expect(await pushed(t)).toEqual({ complete: 1, success: 1, inner: 1 })
      const all = { batches: [batch(3, { onSuccess: callback('parent') })], members: [unique(t, 3, 'c')] }
      expect(await t.store.batches.push(all, NOW)).toHaveLength(1)
      expect(await find(t, 3)).toMatchObject({ total: 0, pending: 0, completedAt: NOW, succeededAt: NOW })
      expect(await pushed(t)).toEqual({ complete: 1, success: 1, inner: 1, parent: 1 })
      expect(await t.waiting('q')).toHaveLength(1)
    },
  },
  {
    name: 'with raise, a lock that is held refuses the whole push of batches, and no lock is taken',
    async run(t) {
      await t.store.jobs.push([unique(t, 1, 'before').item as PushItem], NOW)
      const members = [unique(t, 1, 'a', ['free']), member(t, 1, 'b'), unique(t, 1, 'c', ['free2', 'k'], 'raise')]
      const refused = { reason: 'held', bid: idOf(1), member: 'c', holder: 'before' }
      expect(await t.store.batches.push({ batches: [batch(1, ALL)], members }, NOW)).toEqual(refused)
      expect(await t.store.batches.find(idOf(1))).toBe(null)
      expect(await holders(t, 'free', 'free2')).toEqual([null, null])
      expect(await t.waiting('q')).toHaveLength(1)
    },
  },
  {
    name: 'a job that has its lock already is refused, and jobs that are refused change no earlier batch',
    async run(t) {
      await t.store.batches.push({ batches: [batch(1, ALL)], members: [unique(t, 1, 'a')] }, NOW)
      const add = (...members: NewMember[]) => t.store.batches.push({ batches: [], members }, NOW + 5)
      for (const id of ['a', 'b']) {
        expect(await add(unique(t, 1, id))).toEqual([{ item: expect.anything(), holder: 'a', due: null }])
      }
      const held = { reason: 'held', bid: idOf(1), member: 'a', holder: 'a' }
      expect(await add(unique(t, 1, 'a', ['k'], 'raise'))).toEqual(held)
      expect(await find(t, 1)).toMatchObject({ total: 1, pending: 1, progressAt: NOW })
      expect(await t.waiting('q')).toHaveLength(1)
      await change(t, [1, 'a', 'succeeded'])
      expect(await add(unique(t, 1, 'b'))).toEqual({ reason: 'ended', bid: idOf(1) })
      expect(await add(unique(t, 9, 'b'))).toEqual({ reason: 'unknown', bid: idOf(9) })
      expect(await pushed(t)).toEqual({ complete: 1, success: 1 })
    },
  },
  {
    name: 'a job with a lock that comes twice in one push is stored once, or refuses the push with raise',
    async run(t) {
      const create = (n: number, ...members: NewMember[]) =>
        t.store.batches.push({ batches: [batch(n, {})], members }, NOW)
      expect(await create(1, unique(t, 1, 'a'), unique(t, 1, 'a'))).toEqual([])
      expect(await find(t, 1)).toMatchObject({ total: 1, pending: 1 })
      const strict = ['b', 'b'].map((id) => unique(t, 2, id, ['other'], 'raise'))
      expect(await create(2, ...strict)).toEqual({ reason: 'held', bid: idOf(2), member: 'b', holder: 'b' })
      expect(await t.store.batches.find(idOf(2))).toBe(null)
      expect(await holders(t, 'k', 'other')).toEqual(['a', null])
      expect(await t.waiting('q')).toHaveLength(1)
    },
  },
  {
    name: 'a step that is pushed again is repeated, and not held by its own locks',
    async run(t) {
      await t.store.batches.push({ batches: [batch(1, {})], members: [member(t, 1, 'open')] }, NOW)
      const placeholder = { bid: idOf(1), id: 'own', item: null }
      const step = { batches: [], members: [placeholder, unique(t, 1, 'a', ['k'], 'raise')] }
      expect(await t.store.batches.push(step, NOW)).toEqual([])
      const repeated = { reason: 'repeated', bid: idOf(1), member: 'own' }
      expect(await t.store.batches.push(step, NOW)).toEqual(repeated)
    },
  },
  {
    name: 'a lock whose time is over refuses no job of a batch, and a scheduled job says when it is due',
    async run(t) {
      const timed = (id: string, ends: number): NewMember => {
        const item: PushItem = { to: 'schedule', text: t.job(id, { bid: idOf(1) }), score: 2e9 }
        return { bid: idOf(1), id, item: { ...item, unique: { jid: id, claims: [{ key: 'k', ends }] } } }
      }
      const first = { batches: [batch(1, ALL)], members: [timed('a', NOW), timed('b', NOW + 9), timed('c', NOW + 9)] }
      expect(await t.store.batches.push(first, NOW)).toEqual([{ item: first.members[2]?.item, holder: 'b', due: 2e9 }])
      expect(await open(t, 1)).toEqual({ a: 'waiting', b: 'waiting' })
      const more = { batches: [], members: [timed('d', NOW + 99)] }
      expect(await t.store.batches.push(more, NOW + 9)).toEqual([])
      expect(await find(t, 1)).toMatchObject({ total: 3, pending: 3 })
    },
  },
  {
    name: 'a member that is withdrawn keeps its batch open until then, and is not counted',
    async run(t) {
      const hold: NewMember = { bid: idOf(1), id: 'hold', item: null }
      await t.store.batches.push({ batches: [batch(1, ALL)], members: [hold, member(t, 1, 'a')] }, NOW)
      await change(t, [1, 'a', 'succeeded'])
      expect(await find(t, 1)).toMatchObject({ total: 2, pending: 1, completedAt: null })
      expect(await t.store.batches.push({ batches: [], members: [member(t, 1, 'b')] }, NOW)).toEqual([])
      for (let n = 0; n < 2; n++) await change(t, [1, 'hold', 'withdrawn'])
      expect(await find(t, 1)).toMatchObject({ total: 2, pending: 1, succeeded: 1 })
      await change(t, [1, 'b', 'succeeded'])
      expect(await find(t, 1)).toMatchObject({ total: 2, succeeded: 2, failed: 0, succeededAt: NOW + 1 })
      expect(await pushed(t)).toEqual({ complete: 1, success: 1 })
      await t.store.batches.push({ batches: [batch(2)], members: [{ ...hold, bid: idOf(2) }] }, NOW)
      await change(t, [2, 'hold', 'withdrawn'])
      expect(await find(t, 2)).toMatchObject({ total: 0, succeededAt: NOW + 1 })
      await t.store.batches.push({ batches: [batch(3)], members: [{ ...hold, bid: idOf(3) }] }, NOW)
      await t.store.batches.cancel(idOf(3), NOW)
      await change(t, [3, 'hold', 'withdrawn'])
      expect(await find(t, 3)).toMatchObject({ total: 1, failed: 1, succeededAt: null, cancelling: false })
    },
  },
  {
    name: 'five hundred batches inside each other end together, and one more is refused',
    seconds: 30,
    async run(t) {
      const nested = (n: number) => batch(n, n === 1 ? ALL : { parent: idOf(n - 1) })
      const inner = (n: number): NewMember => ({ bid: idOf(n), id: idOf(n + 1), item: null })
      const specs = Array.from({ length: 501 }, (_, i) => nested(i + 1))
      const nestings = Array.from({ length: 500 }, (_, i) => inner(i + 1))
      const tooDeep = { reason: 'too-deep', bid: idOf(501) }
      const last = member(t, 501, 'a')
      expect(await t.store.batches.push({ batches: specs, members: [...nestings, last] }, NOW)).toEqual(tooDeep)
      expect(await t.store.batches.find(idOf(1))).toBe(null)
      const members = [...nestings.slice(0, 499), member(t, 500, 'a')]
      expect(await t.store.batches.push({ batches: specs.slice(0, 500), members }, NOW)).toEqual([])
      expect((await find(t, 500)).depth).toBe(500)
      const more = { batches: [nested(501)], members: [inner(500), last] }
      expect(await t.store.batches.push(more, NOW)).toEqual(tooDeep)
      await change(t, [500, 'a', 'succeeded'])
      expect(await find(t, 1)).toMatchObject({ pending: 0, succeeded: 1, succeededAt: NOW + 1 })
      expect(await pushed(t)).toEqual({ complete: 1, success: 1 })
    },
  },
  {
    name: 'the batch around another one waits for its jobs and for its callbacks',
    async run(t) {
      const inner = batch(2, { parent: idOf(1), onSuccess: callback('inner'), onDeath: callback('death') })
      const members = [{ bid: idOf(1), id: idOf(2), item: null }, member(t, 2, 'a'), member(t, 2, 'b')]
      const outer = batch(1, { onComplete: callback('complete'), onSuccess: callback('success') })
      await t.store.batches.push({ batches: [outer, inner], members }, NOW)
      expect(await find(t, 1)).toMatchObject({ total: 1, pending: 1 })
      await change(t, [2, 'a', 'succeeded'], [2, 'b', 'dead'])
      expect(await open(t, 1)).toEqual({ [idOf(2)]: 'dead', death: 'waiting' })
      expect(await find(t, 1)).toMatchObject({ total: 2, pending: 1, dead: 1, diedAt: NOW + 1 })
      await change(t, [1, 'death', 'succeeded'])
      expect(await find(t, 1)).toMatchObject({ pending: 0, dead: 1, completedAt: NOW + 1 })
      await change(t, [2, 'b', 'waiting'])
      expect(await open(t, 1)).toEqual({ [idOf(2)]: 'waiting' })
      await change(t, [2, 'b', 'succeeded'])
      expect(await open(t, 1)).toEqual({ inner: 'waiting' })
      expect(await pushed(t)).toEqual({ complete: 1, death: 1, inner: 1 })
      await change(t, [1, 'inner', 'succeeded'])
      expect(await pushed(t)).toEqual({ complete: 1, death: 1, inner: 1, success: 1 })
    },
  },
  {
    name: 'an empty batch succeeds at once, also inside another one',
    async run(t) {
      const inner = batch(2, { parent: idOf(1), onSuccess: callback('inner') })
      const members = [{ bid: idOf(1), id: idOf(2), item: null }]
      await t.store.batches.push({ batches: [batch(1, ALL), inner], members }, NOW)
      expect(await find(t, 2)).toMatchObject({ total: 0, succeededAt: NOW })
      expect(await open(t, 1)).toEqual({ inner: 'waiting' })
      await t.store.batches.push({ batches: [batch(3, { onSuccess: callback('parent') })], members: [] }, NOW)
      expect(await pushed(t)).toEqual({ inner: 1, parent: 1 })
      await change(t, [1, 'inner', 'succeeded'])
      expect(await pushed(t)).toEqual({ inner: 1, parent: 1, complete: 1, success: 1 })
    },
  },
  {
    name: 'a waiting job is pushed once all members have succeeded, and their notes are kept',
    async run(t) {
      const job = waiting('fail')
      const members = [member(t, 1, 'a'), member(t, 1, 'b')]
      await t.store.batches.push({ batches: [batch(1, { job })], members }, NOW)
      expect((await find(t, 1)).job).toEqual(job)
      await change(t, [1, 'a', 'succeeded', '{"é":1}'], [1, 'a', 'succeeded', 'later'])
      expect(await pushed(t)).toEqual({})
      await change(t, [1, 'b', 'succeeded', 'b'])
      expect(await pushed(t)).toEqual({ parent: 1 })
      expect(await t.store.batches.notes(idOf(1))).toEqual({ a: '{"é":1}', b: 'b' })
      expect(await find(t, 1)).toMatchObject({ job: null, succeededAt: NOW + 1 })
    },
  },
  {
    name: 'a member without success: its parent fails at once, runs at the end, or waits for retries by hand',
    async run(t) {
      const fate = async (n: number, policy: ChildFailure, ...changes: [string, MemberChange][]) => {
        const members = [member(t, n, 'a'), member(t, n, 'b')]
        const job = waiting(policy, { jid: `${n}`, text: JSON.stringify({ jid: `${n}` }) })
        await t.store.batches.push({ batches: [batch(n, { job })], members }, NOW)
        const said: string[] = []
        for (const [id, to] of changes) {
          await change(t, [n, id, to])
          const dead = (await t.store.jobSets.page('dead', { limit: 99 })).map(({ text }) => text)
          const queued = await t.waiting('parent')
          const isIn = (texts: string[]) => texts.some((text) => JSON.parse(text).jid === `${n}`)
          said.push(isIn(queued) ? 'queue' : isIn(dead) ? 'dead' : '-')
        }
        return said.join(' ')
      }
      expect(await fate(1, 'fail', ['a', 'dead'], ['b', 'succeeded'], ['a', 'succeeded'])).toBe('dead dead dead')
      expect(await fate(2, 'fail', ['a', 'failed'])).toBe('dead')
      expect(await fate(3, 'ignore', ['a', 'dead'], ['b', 'succeeded'], ['a', 'succeeded'])).toBe('- queue queue')
      expect(await fate(4, 'ignore', ['a', 'failed'], ['b', 'died'])).toBe('- queue')
      expect(await fate(5, 'wait', ['a', 'dead'], ['b', 'succeeded'], ['a', 'waiting'], ['a', 'succeeded'])).toBe(
        '- - - queue',
      )
      expect(await fate(6, 'wait', ['a', 'failed'], ['b', 'succeeded'])).toBe('- dead')
      const [entry] = await t.store.jobSets.page('dead', { limit: 1 })
      expect(JSON.parse(sure(entry).text)).toEqual({ jid: '1', error_message: 'no', enqueued_at: NOW + 1 })
      expect(sure(entry).score).toBe((NOW + 1) / 1000)
    },
  },
  {
    name: 'a parent in the dead set is dead in the batch of which it is a member, with its note',
    async run(t) {
      const inner = { ...waiting('fail'), jid: 'p', note: { key: '0', text: 'why' } }
      const members = [{ bid: idOf(1), id: 'p', item: null }, member(t, 2, 'a')]
      const specs = [batch(1, { job: waiting('ignore') }), batch(2, { parent: idOf(1), job: inner })]
      await t.store.batches.push({ batches: specs, members }, NOW)
      await change(t, [2, 'a', 'failed'])
      expect(await find(t, 1)).toMatchObject({ pending: 0, dead: 1, diedAt: NOW + 1 })
      expect(await t.store.batches.notes(idOf(1))).toEqual({ '0': 'why' })
      expect(await pushed(t)).toEqual({ parent: 1 })
    },
  },
  {
    name: 'the end of a waiting job that does not run is kept in the same step, and wakes those who wait for it',
    async run(t) {
      const ends = {
        seconds: 60,
        dead: '{"failed":{"message":"dead"}}',
        cancelled: '{"failed":{"message":"cancelled"}}',
      }
      const flow = (n: number, jid: string) => batch(n, { job: { ...waiting('wait', { ends }), jid } })
      const specs = [
        flow(1, 'dies'),
        flow(2, 'cancelled'),
        flow(3, 'only dead children'),
        batch(4, { job: waiting('fail') }),
      ]
      await t.store.batches.push({ batches: specs, members: [1, 2, 3, 4].map((n) => member(t, n, 'a')) }, NOW)
      const asked = Promise.all(['dies', 'cancelled'].map((jid) => t.store.results.find(jid, 30_000)))
      await change(t, [1, 'a', 'failed'], [3, 'a', 'dead'], [4, 'a', 'failed'])
      for (const n of [2, 2, 3]) await t.store.batches.cancel(idOf(n), NOW + 1)
      expect(await asked).toEqual([ends.dead, ends.cancelled])
      expect(await t.store.results.find('dies')).toBe(ends.dead)
      expect(await t.store.results.find('only dead children')).toBe(ends.cancelled)
      expect(await t.store.results.find('parent')).toBe(null)
    },
  },
  {
    name: 'a cancelled batch takes no members, its waiting job is dropped, and so are callbacks of the batches in it',
    async run(t) {
      const flow = batch(3, { parent: idOf(1), job: { ...waiting('fail'), jid: 'p', note: { key: '0', text: 'why' } } })
      const specs = [batch(1, ALL), batch(2, { parent: idOf(1), onComplete: callback('inner') }), flow]
      const inside = ['p', idOf(2)].map((id) => ({ bid: idOf(1), id, item: null }))
      const members = [...inside, member(t, 1, 'a'), member(t, 2, 'b'), member(t, 3, 'c')]
      await t.store.batches.push({ batches: specs, members }, NOW)
      const dropped: boolean[] = []
      for (const n of [9, 3, 3, 1, 1]) dropped.push(await t.store.batches.cancel(idOf(n), NOW + 1))
      expect(dropped).toEqual([false, true, false, false, false])
      expect(await cancelling(t)).toEqual([idOf(1), idOf(3)])
      expect(await find(t, 3)).toMatchObject({ cancelling: true, job: null, pending: 1 })
      expect(await find(t, 1)).toMatchObject({ cancelling: true, pending: 2, failed: 1 })
      expect(await t.store.batches.notes(idOf(1))).toEqual({ '0': 'why' })
      const late = await t.store.batches.push({ batches: [], members: [member(t, 1, 'd')] }, NOW)
      expect(late).toEqual({ reason: 'cancelled', bid: idOf(1) })
      await change(t, [2, 'b', 'failed'], [3, 'c', 'failed'])
      expect(await pushed(t)).toEqual({})
      // A dropped callback stays, unlike one that was pushed.
      expect(await find(t, 2)).toMatchObject({ completedAt: NOW + 1, onComplete: callback('inner') })
      expect(await open(t, 1)).toEqual({ a: 'waiting' })
      await change(t, [1, 'a', 'dead'])
      expect(await pushed(t)).toEqual({ complete: 1, death: 1 })
      expect(await find(t, 1)).toMatchObject({ onComplete: null, onDeath: null, onSuccess: ALL.onSuccess })
      expect(await cancelling(t)).toEqual([])
      await change(t, [1, 'a', 'waiting'])
      expect(await find(t, 1)).toMatchObject({ cancelling: false, pending: 1 })
      expect(await t.store.batches.push({ batches: [], members: [member(t, 1, 'd')] }, NOW)).toEqual([])
    },
  },
  {
    name: 'a cancelled batch fails, and so does the batch around it, though its last jobs succeed',
    async run(t) {
      const specs = [batch(1, ALL), batch(2, { parent: idOf(1), ...ALL, job: waiting('fail') })]
      const members = [{ bid: idOf(1), id: idOf(2), item: null }, member(t, 2, 'a'), member(t, 2, 'b')]
      await t.store.batches.push({ batches: specs, members }, NOW)
      await change(t, [2, 'a', 'succeeded'])
      await t.store.batches.cancel(idOf(2), NOW + 1)
      await change(t, [2, 'b', 'succeeded'], [1, 'complete', 'succeeded'])
      const failed = { pending: 0, dead: 0, failed: 1, succeeded: 1, succeededAt: null, completedAt: NOW + 1 }
      expect(await find(t, 2)).toMatchObject({ ...failed, cancelling: false })
      expect(await find(t, 1)).toMatchObject(failed)
      expect(await pushed(t)).toEqual({ complete: 2 })
    },
  },
  {
    name: 'a job that waits again keeps its batch as it is, and one that fails again or is moved is its progress',
    async run(t) {
      await t.store.batches.push({ batches: [batch(1, ALL)], members: [member(t, 1, 'a')] }, NOW)
      const owner = await t.owner()
      const [a] = await t.fetch(owner, 'q')
      await t.settleAndFetch(owner, { settlements: [release(a, { effects: [effect(1, 'a', 'waiting')] })] })
      expect(await find(t, 1)).toMatchObject({ pending: 1, progressAt: NOW })
      await change(t, [1, 'a', 'retrying'])
      await t.store.batches.apply([effect(1, 'a', 'retrying')], NOW + 3)
      expect(await find(t, 1)).toMatchObject({ pending: 1, retrying: 1, progressAt: NOW + 3 })
      const [again] = await t.fetch(owner, 'q')
      const moved = [effect(1, 'a', 'moved'), effect(1, 'b', 'moved')]
      await t.settleAndFetch(owner, { settlements: [release(again, { effects: moved })], now: NOW + 5 })
      expect(await find(t, 1)).toMatchObject({ pending: 1, retrying: 1, progressAt: NOW + 5, completedAt: null })
    },
  },
  {
    name: 'a change of members answers which of them were open',
    async run(t) {
      const members = [member(t, 1, 'a'), member(t, 1, 'b')]
      await t.store.batches.push({ batches: [batch(1)], members }, NOW)
      const effects = [effect(1, 'a', 'withdrawn'), effect(1, 'x', 'failed'), effect(2, 'a', 'failed')]
      expect(await t.store.batches.apply([...effects, effect(1, 'a', 'failed')], NOW)).toEqual([
        true,
        false,
        false,
        false,
      ])
      expect(await t.store.batches.apply([effect(1, 'a', 'withdrawn')], NOW)).toEqual([false])
      expect(await t.store.batches.apply([], NOW)).toEqual([])
      expect(await find(t, 1)).toMatchObject({ total: 1, pending: 1, failed: 0 })
    },
  },
  {
    name: 'scheduled jobs join a batch, and a callback whose times are seconds gets its time in seconds',
    async run(t) {
      const onSuccess = callback('success', { enqueued_at: 0 })
      const text = onSuccess.text.replace('"enqueued_at":0', '"enqueued_at":0.0')
      const item = { to: 'schedule', text: t.job('a'), score: 2e9 } as const
      const members = [{ bid: idOf(1), id: 'a', item }]
      await t.store.batches.push({ batches: [batch(1, { onSuccess: { ...onSuccess, text } })], members }, NOW)
      expect(await t.store.jobSets.size('schedule')).toBe(1)
      await change(t, [1, 'a', 'succeeded'])
      expect((await t.waiting('success'))[0]).toContain(`"enqueued_at":${(NOW + 1) / 1000}`)
    },
  },
  {
    name: 'ten thousand jobs are one batch, and their last settlement pushes one callback',
    seconds: 30,
    async run(t) {
      const ids = Array.from({ length: 10_000 }, (_, n) => `m${n}`)
      const members = ids.map((id) => member(t, 1, id))
      expect(await t.store.batches.push({ batches: [batch(1, ALL)], members }, NOW)).toEqual([])
      expect(Object.keys(await open(t, 1))).toHaveLength(10_000)
      for (let from = 0; from < ids.length; from += 1000) {
        await change(
          t,
          ...ids.slice(from, from + 1000).map((id): [number, string, MemberChange] => [1, id, 'succeeded']),
        )
      }
      expect(await find(t, 1)).toMatchObject({ total: 10_000, pending: 0, succeeded: 10_000 })
      expect(await pushed(t)).toEqual({ complete: 1, success: 1 })
    },
  },
  {
    name: 'batches are listed newest first with their meta, idle ones by their progress, and deleted when their time is over',
    async run(t) {
      const metaOf = (n: number) => JSON.stringify({ description: `"Цены" ${n}` })
      for (const n of [1, 2, 3, 4]) {
        const spec = batch(n, { createdAt: NOW + (n === 4 ? 1 : n), keep: 10, meta: metaOf(n) })
        await t.store.batches.push({ batches: [spec], members: [member(t, n, 'a')] }, NOW + n)
      }
      const bids = (records: BatchRecord[]) => records.map(({ bid }) => bid)
      const newest = await t.store.batches.page({ limit: 2 })
      expect(bids(newest.items)).toEqual([idOf(3), idOf(2)])
      // A search reads them page by page.
      expect(newest.items.map(({ meta }) => meta)).toEqual([metaOf(3), metaOf(2)])
      expect(newest.next).toMatchObject({ createdAt: NOW + 2, bid: idOf(2) })
      const oldest = await t.store.batches.page({ before: sure(newest.next), limit: 9 })
      expect([bids(oldest.items), oldest.next]).toEqual([[idOf(4), idOf(1)], null])
      const first = await t.store.batches.idle(NOW + 4, { limit: 2 })
      expect(bids(first.items)).toEqual([idOf(1), idOf(2)])
      expect(first.next).toMatchObject({ progressAt: NOW + 2, bid: idOf(2) })
      const short = await t.store.batches.idle(NOW + 2, { limit: 9 })
      expect([bids(short.items), short.next]).toEqual([[idOf(1)], null])
      const rest = await t.store.batches.idle(NOW + 9, { after: sure(first.next), limit: 9 })
      expect([bids(rest.items), rest.next]).toEqual([[idOf(3), idOf(4)], null])
      await t.store.batches.apply([effect(1, 'a', 'succeeded', 'x'), effect(2, 'a', 'dead')], NOW + 5)
      expect(await t.store.batches.prune(NOW + 14, 9)).toBe(0)
      expect(await t.store.batches.prune(NOW + 15, 9)).toBe(1)
      expect(bids((await t.store.batches.page({ limit: 9 })).items)).toEqual([idOf(3), idOf(2), idOf(4)])
      expect(await t.store.batches.notes(idOf(1))).toEqual({})
      await t.store.batches.apply([effect(2, 'a', 'failed')], NOW + 6)
      expect(await t.store.batches.prune(NOW + 16, 9)).toBe(1)
    },
  },
  {
    name: 'of several processes that settle the last jobs at once, one pushes the callbacks',
    shared: true,
    async run(t) {
      const stores = [t.store, await t.another(), await t.another()]
      const ids = Array.from({ length: 30 }, (_, n) => `m${n}`)
      await t.store.batches.push({ batches: [batch(1, ALL)], members: ids.map((id) => member(t, 1, id)) }, NOW)
      await Promise.all(
        stores.map(async (store, s) => {
          const owner = await t.owner({ store })
          const fetched = await t.fetch(owner, 'q', 10, store)
          await Promise.all(
            fetched.map((job, i) => {
              const id = (JSON.parse(job.text) as { args: [string] }).args[0]
              const change: MemberChange = s === 0 && i === 0 ? 'died' : 'succeeded'
              return t.settleAndFetch(owner, { settlements: [done(job, { effects: [effect(1, id, change)] })] }, store)
            }),
          )
        }),
      )
      expect(await find(t, 1)).toMatchObject({ total: 30, pending: 0, failed: 1, succeeded: 29 })
      expect(await pushed(t)).toEqual({ complete: 1, death: 1 })
    },
  },
]
