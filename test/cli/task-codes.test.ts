import { expect } from 'vitest'
import { startServer } from '../redis/server.ts'
import { onRedis } from '../redis/suite.ts'
import { test } from './command.ts'

/** Every row is rejected with a code of its own, but for the first, which has none. */
const REJECTED = `
import { BusinessFailure, Highkiq } from 'highkiq'
const hq = new Highkiq()
const Row = hq.job('Row', async (_ctx, n) => {
  throw new BusinessFailure('no', n === 0 ? {} : { code: 'code ' + n })
})
const task = await hq.tasks.create(Row, Array.from({ length: 260 }, (_, n) => [n]))
const worker = hq.worker({ concurrency: 50 })
await worker.start()
await task.wait({ every: 10 })
await worker.stop()
console.log(JSON.stringify({ id: task.id, reasons: await task.reasons() }))
await hq.close()
`

interface Reason {
  code: string | null
  otherCodes?: true
}

onRedis('highkiq task on Redis', () => {
  test('--other-codes selects the rows whose codes are counted together', async ({ folder, onTestFinished }) => {
    const server = await startServer({ databases: 1 })
    onTestFinished(() => server.remove())
    const url = ['--url', server.url()]
    folder.write({ 'reject.mjs': REJECTED.replace('new Highkiq()', `new Highkiq({ url: '${server.url()}' })`) })
    const { id, reasons } = JSON.parse(await folder.node('reject.mjs')) as { id: string; reasons: Reason[] }
    const named = new Set(reasons.map(({ code }) => code))
    const others = Array.from({ length: 260 }, (_, n) => `code ${n}`).filter((code, n) => n > 0 && !named.has(code))
    expect(others.length).toBeGreaterThan(0)

    const events = await folder.json<Reason[]>('task', 'events', id, '--other-codes', ...url)
    expect(events.map(({ code }) => code)).toEqual(others)
    const [both, report] = await Promise.all([
      folder.run(['task', 'events', id, '--other-codes', '--without-code', ...url]),
      folder.run(['task', 'retry', id, '--other-codes', '--report', 'reject.mjs', ...url]),
    ])
    expect([both.code, report.code]).toEqual([2, 2])
    const retried = await folder.json('task', 'retry', id, '--other-codes', ...url)
    expect(retried).toMatchObject({ rows: others.length, run: 2 })
    const left = await folder.json<Reason[]>('task', 'events', id, '--status', 'failed', ...url)
    expect(left).toHaveLength(260 - others.length)
  })
})
