import { symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { bench, promptly, until } from '../engine/bench.ts'
import { clockCases, withClock } from '../engine/clock-cases.ts'
import { pathOf } from '../programs/program.ts'
import { suiteWith } from '../programs/suite.ts'
import { freePort } from '../redis/port.ts'
import { faketime } from '../redis/program.ts'
import { postgres } from './program.ts'
import { PostgresServer } from './server.ts'

suiteWith([postgres, faketime], 'a PostgreSQL server whose clock is set', () => {
  const start = async () => {
    const program = pathOf(postgres) as string
    const { folder, path, setClock } = withClock(program, 'postgres')
    symlinkSync(join(dirname(program), 'initdb'), join(folder, 'initdb'))
    const server = new PostgresServer(path, await freePort(), { fsync: false })
    onTestFinished(() => server.remove())
    server.initialize()
    await server.start()
    return { url: server.url(), setClock }
  }
  clockCases(start)

  test('a result is kept for its time although the clock of the process that kept it is an hour behind', async () => {
    const { url } = await start()
    const { store } = bench({ url }).hq
    await store.open()
    const now = vi.spyOn(Date, 'now').mockReturnValue(Date.now() - 3_600_000)
    try {
      await store.results.keep('a', '{"result":1}', 60)
      await store.results.remember('b', 'value', 60)
    } finally {
      now.mockRestore()
    }
    expect(await store.results.find('a')).toBe('{"result":1}')
    expect(await store.results.remember('b', 'other', 60)).toBe('value')
  })

  test('another process soon acquires a lock whose holder died before the clock was set back', async () => {
    const { url, setClock } = await start()
    const { store } = bench({ url }).hq
    await store.open()
    for (const seconds of [-60, -1800, -7200]) {
      expect(await store.workers.acquireLock('d', 'ann', 0.5)).toBe(true)
      setClock(seconds)
      await promptly(
        2,
        until(() => store.workers.acquireLock('d', 'bob', 0.5)),
      )
      expect(await store.workers.acquireLock('d', 'ann', 0.5)).toBe(false)
      await store.workers.releaseLock('d', 'bob')
    }
  })
})
