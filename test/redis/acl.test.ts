import { expect, type TestContext, test } from 'vitest'
import { lua } from '#dist/store/redis/lua.generated.js'
import { NEEDED_COMMANDS } from '#dist/store/redis/server/rights.js'
import { bench, Collector, until } from '../engine/bench.ts'
import { leastRights } from './least-rights.ts'
import { startServer } from './server.ts'
import { onRedis } from './suite.ts'

onRedis('a Redis user with few rights', () => {
  /** Makes an app that logs in as a user with these rights. */
  async function as({ onTestFinished }: TestContext, rights: readonly string[], query = '') {
    const server = await startServer()
    onTestFinished(() => server.remove())
    await server.ask('ACL', 'SETUSER', 'app', 'on', '>secret', ...rights)
    const url = `${server.url().replace('//', '//app:secret@')}${query}`
    return { server, t: bench({ url }) }
  }

  test('without rights to channels, the default of Redis 7, all works; other processes only notice changes later', async (context) => {
    const { server, t } = await as(context, ['~*', '+@all', 'resetchannels'])
    const ran = new Collector<string>()
    const job = t.hq.job('Do', { keepResult: 60 }, async (_ctx, word: string) => {
      ran.add(word)
      return word
    })
    const failing = t.hq.job('Fail', { retryIn: () => 0.1 }, ({ attempt }) => {
      if (attempt === 1) throw new Error('once')
      ran.add('failed once')
    })
    await t.hq.queue('default').pause()
    expect(await t.hq.queue('default').isPaused()).toBe(true)
    await t.hq.queue('default').resume()
    await t.work()
    await job.performIn(0.1, 'later')
    const jid = await job.performAsync('now')
    await failing.performAsync()
    expect([...(await ran.atLeast(3))].sort()).toEqual(['failed once', 'later', 'now'])
    expect(await t.hq.result(String(jid))).toBe('now')
    await t.settled()
    // A failed job counts as processed as well.
    expect(await server.ask('MGET', 'stat:processed', 'stat:failed')).toEqual(['4', '1'])
    expect(t.errors.map(({ error }) => error.message)).toEqual(['once'])
  })

  test('the rights in the docs are enough, and none is superfluous', async (context) => {
    const { server, t } = await as(context, leastRights, '?namespace=app')
    const ran = new Collector<number>()
    const job = t.hq.job('Do', async (_ctx, n: number) => ran.add(n))
    const worker = await t.work()
    await job.performAsync(1)
    await job.performIn(0.1, 2)
    await ran.atLeast(2)
    await t.hq.queue('default').pause()
    await t.hq.queue('default').resume()
    const task = await t.hq.tasks.create(job, [[3], [4]])
    await task.wait()
    expect(await t.hq.cancel('unknown')).toBe('not-found')
    expect(await t.hq.stats()).toMatchObject({ processed: 4 })
    await until(async () => (await t.hq.processes().size()) === 1)
    await worker.stop()
    expect(t.errors).toEqual([])
    // Without this right Redis refused no command whose error Highkiq ignores.
    expect(await server.ask('ACL', 'LOG')).toEqual([])
  })

  test('the rights in the docs cover every command of our scripts', async (context) => {
    const { server } = await as(context, leastRights)
    const commands = new Set(await server.ask('COMMAND'))
    // Other commands have an argument with one of these names.
    commands.delete('limit')
    const words = Object.values(lua).flatMap(({ source }) => [...source.matchAll(/'([A-Z]{3,})'/g)])
    const used = new Set(words.map(([, word = '']) => word.toLowerCase()).filter((word) => commands.has(word)))
    expect(used.size).toBeGreaterThan(30)
    expect([...used].filter((name) => !leastRights.includes(`+${name}`))).toEqual([])
  })

  test('the rights that the doctor checks are those of the docs', () => {
    const documented = leastRights.filter((right) => right.startsWith('+')).map((right) => right.slice(1))
    expect([...NEEDED_COMMANDS].sort()).toEqual([...documented].sort())
  })
})
