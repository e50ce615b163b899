/** Calls the handler of a job, inside the middleware and with its timeout. */

import { runLinks } from '../../job/chain.ts'
import type { JobContext } from '../../job/context.ts'
import type { JobDefinition } from '../../job/definition.ts'
import { HighkiqError } from '../../job/errors.ts'
import type { Engine, Threads } from '../engine.ts'

/** The attempt fails this long after its timeout even if the handler has not returned. */
const TIMEOUT_GRACE_MS = 1000
/** A longer timer would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** Runs the handler inside the middleware. Resolves with its result and rejects with its error. */
export function runHandler(engine: Engine, ctx: JobContext, definition: JobDefinition | undefined): unknown {
  if (ctx.payload.wrapped !== undefined) engine.unwrap?.(ctx)
  if (definition?.options.thread && engine.threads) return inThread(engine, engine.threads, ctx, definition)
  return around(engine, ctx, definition, async () => {
    if (!definition) throw unknownJob(ctx.payload.wrapped ?? ctx.payload.class)
    return (definition.handler as (ctx: JobContext, ...args: unknown[]) => unknown)(ctx, ...ctx.args)
  })
}

async function inThread(engine: Engine, threads: Threads, ctx: JobContext, definition: JobDefinition) {
  const thread = await threads.reserve(definition, ctx)
  try {
    // Loading the file of the handler may have taken longer than the lease.
    if (engine.lease && !(await engine.lease.confirm())) throw leaseLost(ctx)
    return await around(engine, ctx, definition, () => thread.run())
  } finally {
    thread.release()
  }
}

function leaseLost({ abortReason }: JobContext): Error {
  return abortReason ?? new HighkiqError('LEASE_LOST', 'this process lost its lease before the job began')
}

/** Runs `innermost` inside the middleware and with the job's timeout. */
function around(
  { chain, use = [] }: Engine,
  ctx: JobContext,
  definition: JobDefinition | undefined,
  innermost: () => Promise<unknown>,
): Promise<unknown> {
  const links = definition?.options.use ? [...use, ...definition.options.use] : use
  const inside = links.length === 0 ? innermost : () => runLinks(links, ctx, innermost)
  const running = chain.size === 0 ? inside() : chain.run(ctx, inside)
  const timeout = definition?.options.timeout
  return timeout === undefined || timeout * 1000 > LONGEST_TIMER_MS ? running : withTimeout(running, ctx, timeout)
}

function unknownJob(name: string): HighkiqError {
  return new HighkiqError(
    'UNKNOWN_JOB',
    `no job named ${JSON.stringify(name)} is defined in this process: load its file (-r), or check the spelling`,
  )
}

/** Aborts the signal after `seconds`, and fails the attempt a moment later if the handler has not returned. */
async function withTimeout(running: Promise<unknown>, ctx: JobContext, seconds: number): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined
  const tooLong = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      ctx.abort('JOB_TIMEOUT', `ran longer than its timeout of ${seconds} s`)
      timer = setTimeout(() => reject(ctx.abortReason), TIMEOUT_GRACE_MS)
    }, seconds * 1000)
  })
  let thrown: unknown
  try {
    const result = await Promise.race([running, tooLong])
    if (ctx.abortReason?.code !== 'JOB_TIMEOUT') return result
  } catch (error) {
    thrown = error
  } finally {
    clearTimeout(timer)
  }
  // The timeout is the reason for whatever the handler returned or threw after its signal was aborted.
  throw ctx.abortReason?.code === 'JOB_TIMEOUT' ? ctx.abortReason : thrown
}
