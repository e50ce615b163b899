import { expect, test } from 'vitest'
import { canLimitFiles, closeFiles } from '../programs/open-files.ts'
import { bench, Child, storeOfSuite } from './bench.ts'

test.skipIf(!canLimitFiles)(
  'a process with too many open files gets an error that names the limit, and can open the store later',
  async () => {
    const t = bench()
    await t.hq.push({ class: 'J', args: [] })
    const redis = storeOfSuite() === 'Redis' ? { redisTimeout: 1 } : {}
    const pusher = new Child(t.url, redis, 'late-pusher.js')
    await pusher.waitFor('ready')
    // The second time, the driver is loaded.
    for (const n of [1, 2]) {
      const reopen = closeFiles(pusher.process.pid as number)
      pusher.kill('SIGUSR2')
      const refused = (await pusher.waitFor('refused', n))[n - 1]
      expect(refused).toMatchObject({ message: expect.stringMatching(/RLIMIT_NOFILE.*ulimit -n.*LimitNOFILE/) })
      expect([refused?.code, refused?.cause]).toContainEqual(expect.stringMatching(/^STORE_UN(USABLE|REACHABLE)$/))
      reopen()
      pusher.kill('SIGUSR2')
      await pusher.waitFor('pushed', n)
    }
    expect((await t.hq.stats()).enqueued).toBe(3)
  },
)
