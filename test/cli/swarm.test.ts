import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect } from 'vitest'
import { startServer } from '../redis/server.ts'
import { type Folder, type Running, test } from './command.ts'

/** `Slow` ends when the test puts a file named \`go\` beside it. */
const JOBS = `
import { appendFileSync, existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Highkiq } from 'highkiq'
export const hq = new Highkiq()
hq.job('Slow', async () => {
  console.error('BEGUN ' + process.pid)
  while (!existsSync('go')) await sleep(10)
  console.error('ENDED ' + process.pid)
})
hq.job('Note', async (ctx, n) => {
  await sleep(20)
  appendFileSync('ran', n + '\\n')
})
const held = []
hq.job('Grow', async (ctx, megabytes) => {
  if (held.length === 0) held.push(Buffer.alloc(megabytes * 1024 * 1024, 1))
})
`

const WORKS = /"pid":(\d+).*is working/

/** A parent whose children all work, and their pids. */
async function swarm(folder: Folder, args: string[], n: number, env = {}): Promise<[Running, string[]]> {
  const running = folder.start(['work', '-r', 'jobs.mjs', ...args], env)
  return [running, await pids(running, n)]
}

async function pids(running: Running, n: number): Promise<string[]> {
  return (await running.waitFor(WORKS, n)).map(([pid]) => pid as string)
}

function lives(pid: string): boolean {
  try {
    process.kill(Number(pid), 0)
    return true
  } catch {
    return false
  }
}

describe('highkiq work --processes', () => {
  test('a killed child is replaced, and its siblings rescue its jobs at once', {
    timeout: 300_000,
  }, async ({ folder }) => {
    folder.write({ 'jobs.mjs': JOBS })
    const [parent, first] = await swarm(folder, ['--processes', '2'], 2, { HIGHKIQ_LEASE_SECONDS: '600' })
    expect(first).not.toContain(String(parent.pid))
    await folder.run(['enqueue', 'Slow'])
    const [[victim]] = (await parent.waitFor(/BEGUN (\d+)/)) as [[string]]
    process.kill(Number(victim), 'SIGKILL')
    const [, [next]] = (await parent.waitFor(/BEGUN (\d+)/, 2)) as [[string], [string]]
    expect(next).toBe(first.find((pid) => pid !== victim))
    const [, , third] = await pids(parent, 3)
    expect(first).not.toContain(third)
    folder.write({ go: '' })
    await parent.waitFor(new RegExp(`ENDED ${next}`))
    parent.kill('SIGTERM')
    const { code, stderr } = await parent.ended
    // Before the new one has had a look.
    expect(stderr.lastIndexOf('BEGUN')).toBeLessThan(stderr.lastIndexOf('is working'))
    expect(stderr).toContain('was killed by SIGKILL')
    expect(stderr.match(/"msg":"stopped"/g)).toHaveLength(2)
    expect(code).toBe(0)
    expect(await folder.json('stats')).toMatchObject({ processed: 1, enqueued: 0 })
  })

  test.for(['sqlite', 'redis'])(
    'on %s: children are killed again and again, and no job is lost',
    { timeout: 300_000 },
    async (store, { folder, onTestFinished }) => {
      folder.write({ 'jobs.mjs': JOBS })
      const env: Record<string, string> = {}
      if (store === 'redis') {
        const server = await startServer({ databases: 1 })
        onTestFinished(() => server.remove())
        env.HIGHKIQ_URL = server.url()
      }
      folder.write({
        'push.mjs': `import { hq } from './jobs.mjs'
for (let n = 0; n < 400; n++) await hq.push({ class: 'Note', args: [n] })
await hq.close()`,
      })
      execFileSync(process.execPath, ['push.mjs'], { cwd: folder.path, env: { ...process.env, ...env } })
      const ran = () => (existsSync(folder.at('ran')) ? readFileSync(folder.at('ran'), 'utf8').trim().split('\n') : [])
      const [parent, first] = await swarm(folder, ['--processes', '2', '-c', '2', '--no-log-jobs'], 2, env)
      let known = first
      for (let kill = 0; kill < 3; kill++) {
        await sleep(200)
        process.kill(Number(known.at(-1)), 'SIGKILL')
        known = await pids(parent, known.length + 1)
      }
      while (new Set(ran()).size < 400) await sleep(50)
      expect(known.filter(lives)).toHaveLength(2)
      parent.kill('SIGTERM')
      expect((await parent.ended).code).toBe(0)
      expect(known.filter(lives)).toEqual([])
      const { stdout } = await folder.run(['stats', '--json'], env)
      expect(JSON.parse(stdout)).toMatchObject({ enqueued: 0, retries: 0, dead: 0, busy: 0 })
    },
  )

  test('SIGTERM to the whole process group lets a running job finish', { timeout: 300_000 }, async ({ folder }) => {
    folder.write({ 'jobs.mjs': JOBS })
    const [parent, children] = await swarm(folder, ['--processes', '2'], 2)
    await folder.run(['enqueue', 'Slow'])
    await parent.waitFor(/BEGUN/)
    for (const pid of children) process.kill(Number(pid), 'SIGTERM')
    parent.kill('SIGTERM')
    await parent.waitFor(/waiting for 1 job to end/)
    for (const pid of children) if (lives(pid)) process.kill(Number(pid), 'SIGTERM')
    folder.write({ go: '' })
    const { code, stderr } = await parent.ended
    expect(stderr).toContain('ENDED')
    expect(code).toBe(0)
    expect(await folder.json('stats')).toMatchObject({ processed: 1, enqueued: 0 })
  })

  test('a second SIGTERM kills all processes', { timeout: 300_000 }, async ({ folder }) => {
    folder.write({ 'jobs.mjs': JOBS })
    const [parent, children] = await swarm(folder, ['--processes', '2'], 2)
    await folder.run(['enqueue', 'Slow'])
    await parent.waitFor(/BEGUN/)
    // The second of two signals at once is a copy, as npm sends it.
    parent.kill('SIGINT')
    parent.kill('SIGTERM')
    await parent.waitFor(/waiting for 1 job to end/)
    const again = setInterval(() => parent.kill('SIGTERM'), 100)
    const { code, stderr } = await parent.ended
    clearInterval(again)
    expect(stderr).not.toContain('ENDED')
    expect(code).toBe(1)
    while (children.some(lives)) await sleep(10)
  })

  test('children whose parent was killed finish their jobs and exit', { timeout: 300_000 }, async ({ folder }) => {
    folder.write({ 'jobs.mjs': JOBS })
    const [parent] = await swarm(folder, ['--processes', '2'], 2)
    await folder.run(['enqueue', 'Slow'])
    await parent.waitFor(/BEGUN/)
    parent.kill('SIGKILL')
    await parent.waitFor(/waiting for 1 job to end/)
    folder.write({ go: '' })
    await parent.waitFor(/"msg":"stopped"/, 2)
    const { stderr } = await parent.ended
    expect(stderr).toContain('ENDED')
    expect(await folder.json('stats')).toMatchObject({ processed: 1, enqueued: 0, processes: 0 })
  })

  test('SIGTSTP quiets all children, and none is restarted', { timeout: 300_000 }, async ({ folder }) => {
    folder.write({ 'jobs.mjs': JOBS })
    const [parent, [victim]] = await swarm(folder, ['--processes', '2'], 2)
    parent.kill('SIGTSTP')
    for (;;) {
      const processes = await folder.json<{ quiet: boolean }[]>('processes')
      if (processes.every(({ quiet }) => quiet)) break
    }
    process.kill(Number(victim), 'SIGKILL')
    parent.kill('SIGTERM')
    const { stderr } = await parent.ended
    expect(stderr.match(/is working/g)).toHaveLength(2)
  })

  test("an app that can't be loaded is reported once, with its exit code", { timeout: 300_000 }, async ({ folder }) => {
    folder.write({ 'jobs.mjs': 'throw new Error("no such thing")' })
    const { code, stderr } = await folder.run(['work', '-r', 'jobs.mjs', '--processes', '3'])
    expect(stderr.match(/can't be loaded/g)).toHaveLength(1)
    expect(code).toBe(2)
  })
})

test('a child above --max-memory is replaced, and exits when its successor is ready', { timeout: 300_000 }, async ({
  folder,
}) => {
  folder.write({ 'jobs.mjs': JOBS })
  const [parent, [large]] = await swarm(folder, ['--max-memory', '350'], 1)
  await folder.run(['enqueue', 'Grow', '400'])
  await parent.waitFor(/has grown to \d+ MB/)
  const [, fresh] = await pids(parent, 2)
  await parent.waitFor(new RegExp(`"pid":${large}.*"stopped"`))
  expect(lives(fresh as string)).toBe(true)
  parent.kill('SIGTERM')
  const { code, stderr } = await parent.ended
  expect(stderr.match(/has grown/g)).toHaveLength(1)
  expect(code).toBe(0)
})
