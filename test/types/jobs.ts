/** The types of jobs, pushes, results and hooks. `versions.test.ts` compiles these functions, and nothing calls them. */

import { type BatchOptions, type FlowJob, Highkiq, type Jid, type Job, type JobOptions } from 'highkiq'
import { expectTypeOf } from 'vitest'

const hq = new Highkiq()
const HardJob = hq.job('HardJob', async (_ctx, name: string, count: number) => name.repeat(count))
const Sum = hq.job('Sum', { keepResult: 60 }, async (_ctx, a: number, b: number) => a + b)

export async function pushes(): Promise<void> {
  await HardJob.performAsync('bob', 5)
  // @ts-expect-error: the second argument is a number
  await HardJob.performAsync('bob', '5')
  // @ts-expect-error: an argument is missing
  await HardJob.performIn('5m', 'bob')
  await HardJob.performBulk([['bob', 5]], { batchSize: 100 })
  // @ts-expect-error: the second argument is a number
  await HardJob.performBulk([['bob', 'ann']])
  // @ts-expect-error: there are only two arguments
  await HardJob.performBulk([['bob', 5, 6]])
  // @ts-expect-error: there is no such option
  await HardJob.performBulk([['bob', 5]], { batchsize: 100 })
  // @ts-expect-error: there is no such option
  await HardJob.set({ queu: 'mail' }).performAsync('bob', 5)
  expectTypeOf(HardJob.set({ queue: 'mail' }).via('redis://eu')).toEqualTypeOf(HardJob)
}

export async function results(): Promise<void> {
  const jid = await Sum.performAsync(1, 2)
  expectTypeOf(jid).toEqualTypeOf<Jid<number> | null>()
  expectTypeOf(jid).toExtend<string | null>()
  expectTypeOf(await hq.result(jid)).toEqualTypeOf<number>()
  expectTypeOf(await hq.result((await Sum.performBulk([[1, 2]]))[0] ?? null)).toEqualTypeOf<number>()
  expectTypeOf(await hq.result('7d2a9f0b1c3e4d5f60718293')).toEqualTypeOf<unknown>()
  expectTypeOf(await hq.result<Date>('7d2a9f0b1c3e4d5f60718293')).toEqualTypeOf<Date>()
  expectTypeOf(await hq.result(Sum, '7d2a9f0b1c3e4d5f60718293', { timeout: 5 })).toEqualTypeOf<number>()
  expectTypeOf(await hq.result(Sum.set({ queue: 'mail' }), jid)).toEqualTypeOf<number>()
  // @ts-expect-error: there is no such option
  await hq.result(Sum, jid, { timout: 5 })
  // @ts-expect-error: there is no such option
  await hq.result(jid, { timout: 5 })
}

export function definitions(): void {
  const options: JobOptions = { retry: 5 }
  const Plain = hq.job('Plain', options, async (_ctx, name: string, count: number) => name.repeat(count))
  expectTypeOf(Plain).toExtend<Job<[name: string, count: number], string>>()
  // @ts-expect-error: there is no such option
  hq.job('Typo', { retyr: 5 }, async () => {})
  // @ts-expect-error: there is no such option
  hq.ordered('Typo', { shrads: 5 }, async () => {})
  // @ts-expect-error: there is no such option
  hq.worker({ concurency: 5 })
  // @ts-expect-error: there is no such option
  new Highkiq({ ulr: 'redis://eu' })
  // @ts-expect-error: the second argument is a number
  hq.cron('nightly', '0 3 * * *', HardJob, { args: ['bob', '5'] })
  // @ts-expect-error: the job needs its arguments
  hq.cron('nightly', '0 3 * * *', HardJob)
}

export function callbacks(): void {
  const ByName = hq.job('ByName', async (_ctx, _bid: string) => {})
  const Nothing = hq.job('Nothing', async () => {})
  const options: BatchOptions = { onSuccess: ByName, onComplete: Nothing }
  // @ts-expect-error: the job gets the bid, a string
  options.onDeath = hq.job('Count', async (_ctx, _count: number) => {})
}

export async function flows(names: string[], made: FlowJob[]): Promise<void> {
  const Publish = hq.job('Publish', async () => {})
  const Hello = hq.job('Hello', async (_ctx, name: string, tags: string[] = []) => [name, ...tags])
  await hq.flow({ job: HardJob, args: ['bob', 5] })
  await hq.flow({ job: Sum.set({ queue: 'low' }), args: [1, 2], onChildFailure: 'ignore' })
  const first = { job: Sum, args: [1, 2] } as const
  await hq.flow({
    job: Publish,
    children: [
      { job: HardJob, args: ['bob', 5] },
      { job: Hello, args: ['bob', ['a']] },
    ],
  })
  await hq.flow({ job: Publish, children: [{ job: Publish, children: [{ job: Sum, args: [1, 2] }] }, first] })
  await hq.flow({ job: Publish, children: names.map((name) => ({ job: Hello, args: [name] })) })
  await hq.flow({ job: Publish, children: made }, { keep: '1d' })
  await hq.flow({ job: Publish, children: [...names.map((name) => ({ job: Hello, args: [name] })), { job: Publish }] })
  await hq.flow({ job: hq.jobNamed('Any'), args: ['bob', 5], children: [{ job: hq.jobNamed('Any') }] })
  // @ts-expect-error: the second argument is a number
  await hq.flow({ job: HardJob, args: ['bob', '5'] })
  // @ts-expect-error: there are only two arguments
  await hq.flow({ job: HardJob, args: ['bob', 5, 6] })
  // @ts-expect-error: the job needs its arguments
  await hq.flow({ job: HardJob })
  // @ts-expect-error: the second argument of a child is a number
  await hq.flow({ job: Publish, children: [{ job: Sum, args: [1, '2'] }] })
  // @ts-expect-error: of a child of a child, too
  await hq.flow({ job: Publish, children: [{ job: Publish, children: [{ job: Sum, args: [1] }] }] })
  // @ts-expect-error: the elements of a list are numbers
  await hq.flow({ job: Publish, children: names.map((name) => ({ job: Sum, args: [name, name] })) })
  // @ts-expect-error: there is no such option
  await hq.flow({ job: Publish, argz: [] })
  // @ts-expect-error: a child has no such option, either
  await hq.flow({ job: Publish, children: [{ job: Publish, argz: [] }] })
  // @ts-expect-error: there is no such policy
  await hq.flow({ job: Publish, onChildFailure: 'retry' })
}

/** What was thrown is not always an Error. */
export function hooks(): void {
  hq.onError((error) => expectTypeOf(error).toEqualTypeOf<unknown>())
  hq.onDeath((_payload, error) => expectTypeOf(error).toEqualTypeOf<unknown>())
  hq.onFatal((error) => expectTypeOf(error).toEqualTypeOf<unknown>())
  hq.job('Doomed', { onExhausted: (_payload, error) => expectTypeOf(error).toEqualTypeOf<unknown>() }, async () => {})
  hq.job('Patient', { retryIn: (_count, error) => (error instanceof RangeError ? 'kill' : 'default') }, async () => {})
  // @ts-expect-error: the error is unknown until the handler has checked it
  hq.onError((error) => error.message)
}
