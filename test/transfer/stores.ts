import { onTestFinished } from 'vitest'
import type { Store } from '#dist/store/contract.js'
import { openStore } from '#dist/store/open.js'
import { isDone, StoreMover } from '#dist/transfer/mover.js'
import { NOW, sure } from '../conformance/bench.ts'
import type { StoreFactory } from '../conformance/factory.ts'

const STEPS = {
  transfers: [
    ...['hold', 'held', 'put', 'endPage'],
    ...['freeze', 'unfreeze', 'movingTasks', 'seal', 'unseal', 'readTask', 'dropTask', 'putTask', 'voidTask'],
    ...['holdIds', 'putIds', 'returnIds'],
  ],
  tasks: ['leaveWindow'],
  jobs: ['pauseQueue'],
  ordered: ['pause'],
  limits: ['add'],
} as const

/** The number of the call that stores the first page: a queue is paused before it, and a limit is copied. */
export const FIRST_PUT = 2

export async function open(factory: StoreFactory): Promise<{ store: Store; url: string }> {
  const made = await factory.create()
  const store = openStore(made.url)
  await store.open()
  onTestFinished(async () => {
    await store.close()
    await made.destroy()
  })
  return { store, url: made.url }
}

/** Returns the store as a process sees it whose call number `at` fails: before it is done, or only its answer is lost. */
export function failing(store: Store, count: { calls: number; at: number; isDone: boolean }): Store {
  const areas = Object.entries(STEPS).map(([area, names]) => {
    const real = store[area as keyof typeof STEPS] as unknown as Record<
      string,
      (...args: unknown[]) => Promise<unknown>
    >
    const faulty = Object.fromEntries(
      names.map((name) => [
        name,
        async (...args: unknown[]) => {
          const fails = count.calls++ === count.at
          if (fails && !count.isDone) throw new Error('killed')
          const answer = await sure(real[name]).apply(real, args)
          if (fails) throw new Error('killed')
          return answer
        },
      ]),
    )
    // The methods of a class read its private fields.
    return [area, new Proxy(real, { get: (of, name) => faulty[name as string] ?? of[name as string]?.bind(of) })]
  })
  const replaced = Object.fromEntries(areas) as Record<string, unknown>
  return new Proxy(store, { get: (of, name) => replaced[name as string] ?? of[name as keyof Store] })
}

/** Returns the store as a process sees it which another one overtakes: `work` is done just before the first call of `step`. */
export function overtaken(store: Store, step: keyof Store['transfers'], work: () => Promise<unknown>): Store {
  let isDone = false
  return disturbed(store, step, async () => {
    if (isDone) return
    isDone = true
    await work()
  })
}

/** Returns the store with `work` done before each call of `step`. */
export function disturbed(store: Store, step: keyof Store['transfers'], work: () => Promise<unknown>): Store {
  const transfers = new Proxy(store.transfers, {
    get: (of, name) => {
      const real = of[name as keyof typeof of] as unknown as (...args: unknown[]) => Promise<unknown>
      if (name !== step) return real
      return async (...args: unknown[]) => {
        await work()
        return real.apply(of, args)
      }
    },
  })
  return new Proxy(store, { get: (of, name) => (name === 'transfers' ? transfers : of[name as keyof Store]) })
}

export async function moveAll(source: Store, target: Store): Promise<StoreMover> {
  const mover = new StoreMover({ source, target, now: () => NOW })
  await mover.begin()
  for (let pass = await mover.pass(); !isDone(pass); pass = await mover.pass());
  return mover
}
