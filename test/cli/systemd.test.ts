import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { describe, expect } from 'vitest'
import { Collector } from '../engine/bench.ts'
import { type Folder, test as plainTest } from './command.ts'

const LISTEN = fileURLToPath(new URL('listen.py', import.meta.url))

const JOBS = `
import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Highkiq } from 'highkiq'
export const hq = new Highkiq()
hq.job('Slow', async () => {
  console.error('BEGUN ' + JSON.stringify([process.env.NOTIFY_SOCKET, process.env.WATCHDOG_USEC]))
  while (!existsSync('go')) await sleep(10)
})
`

/** Collects what systemd would be sent. */
class Manager {
  readonly messages = new Collector<string>()
  readonly process: ChildProcess

  constructor(path: string) {
    this.process = spawn('python3', [LISTEN, path], { stdio: ['ignore', 'pipe', 'inherit'] })
    createInterface({ input: this.process.stdout as NodeJS.ReadableStream }).on('line', this.messages.add)
  }

  /** Resolves to all messages, once one of them matches. */
  async waitFor(what: RegExp): Promise<string[]> {
    for (let n = 1; ; n++) {
      const all = await this.messages.atLeast(n)
      if (all.some((text) => what.test(text))) return all.slice(1)
    }
  }
}

const present = ['python3', 'systemd-notify'].every((program) => spawnSync(program, ['--version']).status === 0)

const test = plainTest.extend<{ listen: (path: string) => Promise<Manager> }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads from the pattern what a fixture needs
  listen: async ({}, use) => {
    const managers: Manager[] = []
    await use(async (path) => {
      const manager = new Manager(path)
      managers.push(manager)
      await manager.messages.atLeast(1)
      return manager
    })
    for (const { process } of managers) process.kill()
  },
})

const work = (folder: Folder, env: Record<string, string>, ...args: string[]) =>
  folder.start(['work', '-r', 'jobs.mjs', ...args], env)

describe.skipIf(!present)('systemd', () => {
  test.for(['file', 'abstract'])(
    'is notified when the worker is ready and when it stops (%s)',
    { timeout: 300_000 },
    async (kind, { folder, listen }) => {
      folder.write({ 'jobs.mjs': JOBS })
      const path = kind === 'file' ? folder.at('notify') : `@highkiq-test-${process.pid}`
      const manager = await listen(path)
      const worker = work(folder, { NOTIFY_SOCKET: path, WATCHDOG_USEC: '2000000' }, '-c', '4')
      expect(await manager.waitFor(/READY=1/)).toEqual([expect.stringMatching(/^READY=1 STATUS=0 of 4 busy$/)])
      await worker.waitFor(/is working/)
      await manager.waitFor(/^WATCHDOG=1$/)
      await folder.run(['enqueue', 'Slow'])
      // Programs that jobs start must not notify systemd.
      expect(await worker.waitFor(/BEGUN (.*)/)).toEqual([['[null,null]']])
      worker.kill('SIGTERM')
      await manager.waitFor(/^STOPPING=1 STATUS=stopping$/)
      folder.write({ go: '' })
      expect((await worker.ended).code).toBe(0)
    },
  )

  test('a watchdog for another process, or with an interval below a second, is not served', {
    timeout: 300_000,
  }, async ({ folder, listen }) => {
    folder.write({ 'jobs.mjs': JOBS })
    const path = folder.at('notify')
    const manager = await listen(path)
    const other = work(folder, { NOTIFY_SOCKET: path, WATCHDOG_USEC: '1000000', WATCHDOG_PID: '1' })
    await manager.waitFor(/READY=1/)
    const hasty = work(folder, { NOTIFY_SOCKET: path, WATCHDOG_USEC: '500000' })
    await hasty.waitFor(/WATCHDOG_USEC must be at least 1000000/)
    for (const worker of [other, hasty]) {
      worker.kill('SIGTERM')
      await worker.ended
    }
    expect(manager.messages.all.filter((text) => text.includes('WATCHDOG'))).toEqual([])
  })

  test('several processes are one service: ready when all are', { timeout: 300_000 }, async ({ folder, listen }) => {
    folder.write({ 'jobs.mjs': JOBS })
    const path = folder.at('notify')
    const manager = await listen(path)
    const parent = work(folder, { NOTIFY_SOCKET: path }, '--processes', '2')
    expect(await manager.waitFor(/READY=1/)).toEqual(['READY=1 STATUS=2 processes'])
    expect(await parent.waitFor(/is working/, 2)).toHaveLength(2)
    parent.kill('SIGTERM')
    expect((await parent.ended).code).toBe(0)
    expect(manager.messages.all.slice(1)).toEqual(['READY=1 STATUS=2 processes', 'STOPPING=1 STATUS=stopping'])
  })

  test("a systemd that can't be notified is logged once, and the worker runs", { timeout: 300_000 }, async ({
    folder,
  }) => {
    folder.write({ 'jobs.mjs': JOBS })
    const worker = work(folder, { NOTIFY_SOCKET: folder.at('nobody'), WATCHDOG_USEC: '1000000' })
    await worker.waitFor(/systemd could not be notified: Failed to notify/)
    await folder.run(['enqueue', 'Slow'])
    await worker.waitFor(/BEGUN/)
    folder.write({ go: '' })
    worker.kill('SIGTERM')
    const { code, stderr } = await worker.ended
    expect(stderr.match(/could not be notified/g)).toHaveLength(1)
    expect(code).toBe(0)
  })
})

plainTest('without systemd-notify the warning names Type=exec', { timeout: 300_000 }, async ({ folder }) => {
  folder.write({ 'jobs.mjs': JOBS })
  const worker = work(folder, { NOTIFY_SOCKET: folder.at('nobody'), PATH: '/nowhere' })
  await worker.waitFor(/systemd-notify is not installed; use Type=exec/)
  worker.kill('SIGTERM')
  expect((await worker.ended).code).toBe(0)
})
