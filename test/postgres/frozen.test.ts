import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '#dist/store/open.js'
import { diagnose } from '#dist/store/postgres/server/diagnosis.js'
import { readPostgresUrl } from '#dist/store/postgres/server/url.js'
import { NOW, toQueue } from '../conformance/bench.ts'
import { Child, promptly } from '../engine/bench.ts'
import { startAnswerProxy } from './answer-proxy.ts'
import { type PostgresServer, startPostgres } from './server.ts'
import { onPostgres } from './suite.ts'

/** Stops the processes of a server, so that it keeps its connections and answers nothing; until the end of the test. */
async function freeze(server: PostgresServer): Promise<void> {
  const rows = await server.query('SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()')
  const pids = [server.pid, ...rows.map(({ pid }) => pid as number)]
  onTestFinished(() => {
    for (const pid of pids) process.kill(pid, 'SIGCONT')
  })
  for (const pid of pids) process.kill(pid, 'SIGSTOP')
}

onPostgres('a frozen server', () => {
  test('does not keep a process from closing its store and ending', { timeout: 300_000 }, async () => {
    const server = await startPostgres()
    onTestFinished(() => server.remove())
    const child = new Child(server.url(), {}, '../postgres/frozen-child.js')
    await child.waitFor('ran')
    await freeze(server)
    child.process.kill('SIGTERM')
    await promptly(15, child.waitFor('closed'))
    expect(await promptly(2, child.exited)).toEqual({ code: 0, signal: null })
  })

  test('does not block the doctor', async () => {
    const server = await startPostgres()
    onTestFinished(() => server.remove())
    const proxy = await startAnswerProxy(server.url())
    // The proxy also holds back all later answers.
    proxy.hold('pg_is_in_recovery')
    const findings = await promptly(10, diagnose(readPostgresUrl(proxy.url), 0.5))
    const failed = findings.filter(({ text }) => text.startsWith('this could not be checked'))
    expect(failed.map(({ check }) => check)).toEqual(['standby', 'durability', 'connections', 'transactions', 'vacuum'])
  })

  test('does not keep a store from closing while a push and a write wait for it', { timeout: 300_000 }, async () => {
    const server = await startPostgres()
    onTestFinished(() => server.remove())
    const store = openStore(server.url())
    const push = () => store.jobs.push([toQueue('q', '{}')], NOW)
    const write = () => store.jobs.pauseQueue('q', true)
    await push()
    // Each has a connection afterwards.
    await Promise.all([push(), write()])
    await freeze(server)
    const pushed = expect(push()).rejects.toMatchObject({ maybePushed: true })
    const written = expect(write()).rejects.toMatchObject({ code: 'STORE_TIMEOUT' })
    // Both are sent.
    await new Promise(setImmediate)
    await promptly(5, store.close())
    await Promise.all([pushed, written])
  })
})
