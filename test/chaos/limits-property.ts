import type { Limit, LimitStore, Store } from '#dist/store/contract.js'
import { openStore } from '#dist/store/open.js'
import { chance } from '../conformance/chance.js'

const none = { max: 0, count: 0, per: 0, burst: 1, window: 'smooth' } as const
const LIMITS: Limit[] = [
  { ...none, name: 'slots', max: 3 },
  { ...none, name: 'one', max: 1 },
  { ...none, name: 'smooth', count: 400, per: 1000 },
  { ...none, name: 'burst', count: 100, per: 500, burst: 7 },
  { ...none, name: 'fixed', count: 5, per: 50, window: 'fixed' },
  { ...none, name: 'sliding', count: 6, per: 60, window: 'sliding' },
  { ...none, name: 'both', max: 2, count: 200, per: 1000, burst: 2 },
]
const PROCESSES = 4
const STEPS = 120

interface Held {
  ticket: string
  limits: Limit[]
}

/** A start that a limit gave out: the earliest and the latest time that it can mean, in ms. */
type Start = [from: number, to: number]

/**
 * Several processes ask for room at random, free slots or die. Returns where a limit was exceeded: more slots than it has,
 * counted by the owners that have a lease; or more starts than it allows, measured on the clock of this process.
 */
export async function limitsUnder(url: string, seed: number): Promise<string[]> {
  const random = chance(seed)
  const dice = (n: number) => Math.floor(random() * n)
  const stores = await Promise.all(Array.from({ length: PROCESSES }, () => openStore(url)))
  const owners = new Map<string, Held[]>()
  const names: string[] = []
  const starts = new Map<string, Start[]>()
  const complaints: string[] = []
  let made = 0
  const join = async (store: Store, i: number) => {
    const owner = `s${seed}-${i}-${made++}`
    await store.workers.join(owner, { queues: ['q'], seconds: 600, host: 'here\n1\n1' })
    owners.set(owner, [])
    names[i] = owner
  }
  const acquire = async ({ limits }: { limits: LimitStore }, owner: string) => {
    const wanted = Array.from({ length: 1 + dice(6) }, () => ({
      ticket: `${made++}`,
      limits: LIMITS.filter(() => dice(LIMITS.length) < 2),
    })).filter((one) => one.limits.length > 0)
    const from = performance.now()
    const answers = await limits.acquire(owner, wanted)
    const to = performance.now()
    for (const [i, { over, ms }] of answers.entries()) {
      const request = wanted[i]
      if (over !== null || !request) continue
      owners.get(owner)?.push(request)
      for (const { name, count } of request.limits) {
        if (count > 0) starts.set(name, [...(starts.get(name) ?? []), [from + ms, to + ms]])
      }
    }
  }
  const release = async ({ limits }: { limits: LimitStore }, owner: string) => {
    const held = owners.get(owner) ?? []
    const [one] = held.splice(dice(held.length), 1)
    for (const { name, max } of one?.limits ?? []) {
      if (max > 0 && one) await limits.release({ limit: name, owner, ticket: one.ticket })
    }
  }
  const checkSlots = () => {
    for (const { name, max } of LIMITS) {
      const used = [...owners.values()].flat().filter((held) => held.limits.some((limit) => limit.name === name)).length
      if (max > 0 && used > max) complaints.push(`seed ${seed}: ${name} has ${used} slots in use`)
    }
  }
  try {
    for (const [i, store] of stores.entries()) await join(store, i)
    for (let step = 0; step < STEPS; step++) {
      // Each process does one thing at a time, all at the same time.
      await Promise.all(
        stores.map(async (store, i) => {
          const owner = names[i] as string
          const what = dice(20)
          if (what === 0) {
            owners.delete(owner)
            await store.workers.claim(owner)
            await join(store, i)
          } else if (what < 11) await acquire(store, owner)
          else await release(store, owner)
        }),
      )
      checkSlots()
    }
    for (const limit of LIMITS) complaints.push(...exceeded(limit, starts.get(limit.name) ?? [], seed))
    return complaints
  } finally {
    for (const store of stores) await store.close()
  }
}

/** Returns a complaint if some starts surely lie too close together. */
function exceeded({ name, count, per, burst, window }: Limit, starts: Start[], seed: number): string[] {
  const sorted = starts.toSorted(([, a], [, b]) => a - b)
  // So many starts in a row need more than one period.
  const most = window === 'smooth' ? count + burst : window === 'fixed' ? 2 * count : count
  for (let i = most; i < sorted.length; i++) {
    // A start whose call took long may have been before those that ended earlier.
    const earliest = Math.min(...sorted.slice(i - most, i + 1).map(([from]) => from))
    const [, latest] = sorted[i] as Start
    if (latest - earliest < per - 1) {
      return [`seed ${seed}: ${name} gave out ${most + 1} starts in ${latest - earliest} ms`]
    }
  }
  return []
}
