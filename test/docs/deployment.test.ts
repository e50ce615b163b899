import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { suiteWith } from '../programs/suite.ts'
import { Example } from './example.ts'
import { written } from './packed.ts'
import { systemd } from './program.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const page = readFileSync(join(root, 'docs/deployment.md'), 'utf8')

/** The page's block in this language that has the text. */
function blockWith(language: string, text: string): string {
  const fences = page.matchAll(/^```(\w*)\n(.*?)^```$/gms)
  const block = [...fences].find(([, name, code]) => name === language && code?.includes(text))?.[2]
  if (block === undefined) throw new Error(`docs/deployment.md has no block of ${language} with ${text}`)
  return block
}

/** The command of a supervisor, which starts with the path of Highkiq, as arguments of Node. */
const programOf = ([program = '', ...args]: string[]) => {
  expect(program).toMatch(/node_modules\/\.bin\/highkiq$/)
  return [join(root, 'dist/cli/main.js'), ...args]
}

/** A worker of this command, in the folder of the first hour's jobs. */
function start(command: string[], env: NodeJS.ProcessEnv = {}) {
  const { folder } = new Example('docs/start.md', ['jobs.ts'], ['tsx'])
  const { HIGHKIQ_URL: _, NODE_ENV: __, ...rest } = process.env
  const child = spawn(process.execPath, programOf(command), { cwd: folder, env: { ...rest, ...env } })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

test('the worker of Kubernetes answers its probes while it works, and stops at SIGTERM', async () => {
  const { args, startupProbe, readinessProbe } = parse(blockWith('yaml', 'startupProbe'))
  expect(readinessProbe.httpGet).toEqual(startupProbe.httpGet)
  const port = args.indexOf('--web') + 1
  expect(Number(args[port])).toBe(startupProbe.httpGet.port)
  const command = args.with(port, '0') // a free one
  const child = start(command, { HIGHKIQ_WEB_TOKEN: 'a token of thirty-two characters' })
  const [, url] = /"url":"http:\/\/[^"]*?:(\d+)/.exec(await written(child, /the dashboard is at/)) ?? []
  const answer = await fetch(`http://127.0.0.1:${url}${startupProbe.httpGet.path}`)
  expect(answer.status).toBe(200)
  expect((await fetch(`http://127.0.0.1:${url}/api/v1/stats`)).status).toBe(401)
  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([0, null])
})

test('the workers of the Dockerfile and of Heroku start and stop', async () => {
  const docker = JSON.parse(/^CMD (.*)$/m.exec(blockWith('dockerfile', 'CMD'))?.[1] ?? '[]')
  const heroku = /^worker: (.*)$/m.exec(blockWith('', 'worker: '))?.[1]?.split(' ') ?? []
  for (const command of [docker, heroku]) {
    const child = start(command)
    await written(child, /"concurrency":10/)
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).toEqual([0, null])
  }
})

test('Compose gives the workers more time to stop than they take, and keeps the jobs of Redis', () => {
  const { services } = parse(blockWith('yaml', 'services:'))
  expect(Number.parseInt(services.worker.stop_grace_period, 10)).toBeGreaterThan(25 + 8)
  expect(services.redis.command).toContain('--appendonly yes --maxmemory-policy noeviction')
  expect(programOf(services.dashboard.command.split(' ')).slice(1, 2)).toEqual(['web'])
  expect(services.dashboard.environment.HIGHKIQ_URL).toBe(services.worker.environment.HIGHKIQ_URL)
})

suiteWith([systemd], 'systemd', () => {
  test('knows each key of the unit, and the unit waits longer than a worker takes to stop', () => {
    const unit = blockWith('ini', '[Service]')
    const { folder } = new Example('docs/start.md', [])
    const file = join(folder, 'shop-worker.service')
    const verify = (text: string) => {
      writeFileSync(file, text)
      const { status, stderr } = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' })
      return { status, unknown: /Unknown .*/.exec(stderr)?.[0] }
    }
    // The folder and the user of the page are not on this machine.
    const here = unit.replace(/ExecStart=\S+/, 'ExecStart=/bin/true').replace(/^(User|WorkingDirectory)=.*\n/gm, '')
    expect(verify(here)).toEqual({ status: 0, unknown: undefined })
    expect(verify(here.replace('WatchdogSec', 'WatchdogSeconds')).unknown).toContain('WatchdogSeconds')
    expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1])).toBeGreaterThan(25 + 8)
  })
})
