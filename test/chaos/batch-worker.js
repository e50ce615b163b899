// Processes of the test of batches: the argument of each seed is URL. They say what runs, and cancel the batches that are for it.
import { setTimeout as sleep } from 'node:timers/promises'
import { forEachSeed, isBusy, seedApp } from './seed-workers.js'

await forEachSeed(async ([url], say, random) => {
  const hq = seedApp(url, random)
  const pid = process.pid
  // All other errors are those of a killed neighbour.
  hq.onError(({ code }) => {
    if (code === 'LEASE_LOST') say(JSON.stringify({ name: 'lost', pid }))
  })
  const pause = () => sleep(random() * 20)
  /** One line for each run. `attempt` differs from run to run, also after a crash. `at` is in microseconds. */
  const note = (ctx, about) => {
    const { jid, hk_crashes: crashes = 0, retry_count: retries = 'none' } = ctx.payload
    const at = Number(process.hrtime.bigint() / 1000n)
    say(JSON.stringify({ jid, attempt: `${retries} ${crashes}`, pid, at, ...about }))
  }
  const Work = hq.job('Work', { retry: 1, retryIn: 0.01, maxCrashes: 1000 }, async (ctx, name, how) => {
    await pause()
    note(ctx, { name: 'Work', of: ctx.payload.bid })
    if (how === 'dies' || (how === 'retries' && ctx.payload.retry_count === undefined)) throw new Error(how)
    if (how === 'grows') await untilStored(() => ctx.batch.add(() => Work.performAsync(`${name} grown`, 'ok')))
    return name
  })
  hq.job('Once', { maxCrashes: 1000, unique: true }, pause)
  for (const name of ['Success', 'Complete', 'Death']) {
    hq.job(name, { maxCrashes: 1000 }, async (ctx, bid) => {
      note(ctx, { name, bid })
      await pause()
    })
  }
  hq.job('Join', { maxCrashes: 1000 }, async (ctx, name) => {
    const children = await ctx.children()
    note(ctx, { name: 'Join', lost: children.filter(({ status }) => status === 'lost').length })
    return name
  })
  await hq.worker({ queues: ['default'], concurrency: 4, leaseSeconds: 1, pollInterval: 0.05 }).start()

  async function cancelSome() {
    for await (const { bid, description, state } of hq.batches.list()) {
      if (description === 'to be cancelled' && state === 'running') await hq.batches.cancel(bid)
    }
  }
  async function cancelAgain() {
    for (;;) {
      await cancelSome().catch((thrown) => {
        if (!isBusy(thrown)) throw thrown
      })
      await sleep(random() * 100)
    }
  }
  cancelAgain()
})

/** Repeats a push while a busy machine keeps the store from answering in time. */
async function untilStored(push) {
  for (;;) {
    try {
      return await push()
    } catch (thrown) {
      if (!isBusy(thrown.cause)) throw thrown
    }
  }
}
