/**
 * The projects of `npm create highkiq`, made by the packed create-highkiq, with the packed highkiq: their scripts, and the
 * services of their Compose file as processes.
 */

import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { installPacked, written } from '../docs/packed.ts'
import { freePort } from '../redis/port.ts'
import { startServer } from '../redis/server.ts'
import { onRedis } from '../redis/suite.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const { HIGHKIQ_URL: _, NODE_ENV: __, VITEST: ___, ...outside } = process.env

/** A new project, with the packages that its package.json names. */
class Project {
  readonly folder: string
  readonly #env: NodeJS.ProcessEnv

  constructor(store: 'sqlite' | 'redis') {
    const parent = mkdtempSync(join(tmpdir(), 'highkiq-starter-'))
    onTestFinished(() => rmSync(parent, { recursive: true, force: true }))
    const args = ['pack', '--silent', '--pack-destination', parent]
    const tarball = execFileSync('npm', args, { cwd: join(root, 'create-highkiq'), encoding: 'utf8' }).trim()
    execFileSync('tar', ['xzf', tarball], { cwd: parent })
    const [bin] = Object.values<string>(JSON.parse(readFileSync(join(parent, 'package/package.json'), 'utf8')).bin)
    execFileSync(process.execPath, [join(parent, 'package', bin as string), 'shop', '--store', store], { cwd: parent })
    this.folder = join(parent, 'shop')

    const packages = join(this.folder, 'node_modules')
    mkdirSync(join(packages, '@types'), { recursive: true })
    installPacked(packages)
    for (const name of ['typescript', '@types/node'])
      symlinkSync(join(root, 'node_modules', name), join(packages, name))
    symlinkSync('../typescript/bin/tsc', join(packages, '.bin/tsc'))
    this.#env = { ...outside, PATH: `${join(packages, '.bin')}:${outside.PATH}`, NO_COLOR: '1', FORCE_COLOR: '' }
  }

  read(file: string): string {
    return readFileSync(join(this.folder, file), 'utf8')
  }

  /** Runs a script of package.json, as `npm run` does. Returns what it printed when it failed. */
  run(script: string): string {
    const { status, stdout, stderr } = spawnSync('npm', ['run', script], { ...this.#options(), encoding: 'utf8' })
    return status === 0 ? '' : `${stdout}${stderr}`
  }

  /** Starts a command that runs until the test ends it. */
  start([program = '', ...args]: string[], env: Record<string, string> = {}): ChildProcess {
    const child = spawn(program, args, this.#options(env))
    onTestFinished(() => void child.kill('SIGKILL'))
    return child
  }

  script(name: string): string[] {
    return JSON.parse(this.read('package.json')).scripts[name].split(' ')
  }

  #options(env: Record<string, string> = {}): { cwd: string; env: NodeJS.ProcessEnv } {
    return { cwd: this.folder, env: { ...this.#env, ...env } }
  }
}

/** Ends processes as a supervisor does. Each must end by itself, in order. */
async function stop(...children: ChildProcess[]): Promise<void> {
  const ended = children.map((child) => once(child, 'exit'))
  for (const child of children) child.kill('SIGTERM')
  for (const end of ended) expect(await end).toEqual([0, null])
}

interface Service {
  build?: string
  command?: string | string[]
  environment?: Record<string, string>
  deploy?: { replicas: number }
}

test('a project on SQLite typechecks, passes its tests, and runs what its web server pushes', {
  timeout: 180_000,
}, async () => {
  const project = new Project('sqlite')
  expect(project.run('typecheck')).toBe('')
  expect(project.run('test')).toBe('')

  const port = await freePort()
  const [worker, web] = [
    project.start(project.script('worker')),
    project.start(project.script('web'), { PORT: String(port) }),
  ]
  const sent = written(worker, /"name":"ann".*welcome sent/)
  await written(web, /pushes jobs/)
  const url = `http://localhost:${port}`
  const pushed = await fetch(`${url}/welcome?name=ann`, { method: 'POST' })
  expect([pushed.status, await pushed.json()]).toEqual([202, { jid: expect.stringMatching(/^[0-9a-f]{24}$/) }])
  await sent
  // Only this machine reaches it, so it needs no login.
  expect((await fetch(`${url}/jobs/`)).status).toBe(200)
  expect(await (await fetch(url)).json()).toEqual({ error: expect.stringContaining('POST /welcome?name=ann') })
  expect((await fetch(`${url}/jobsite`)).status).toBe(404)
  await stop(worker, web)
})

onRedis('on Redis', () => {
  test('the services of compose.yaml are two workers and a dashboard behind a login', {
    timeout: 180_000,
  }, async () => {
    const project = new Project('redis')
    expect(project.run('typecheck')).toBe('')
    expect(project.run('test')).toBe('')

    const { redis, ...services } = parse(project.read('compose.yaml')).services as Record<string, Service>
    const flags: string[] = String(redis?.command).replace('redis-server --', '').split(' --')
    expect(flags).toEqual(['appendonly yes', 'maxmemory-policy noeviction'])
    const server = await startServer(Object.fromEntries(flags.map((flag) => flag.split(' '))))
    onTestFinished(() => server.remove())
    const port = await freePort()
    const [, token = ''] = /^HIGHKIQ_WEB_TOKEN=(.*)$/m.exec(project.read('.env')) ?? []
    const image = JSON.parse(/^CMD (.*)$/m.exec(project.read('Dockerfile'))?.[1] ?? '')

    /** Starts what Compose would start, with the values that only a network of containers has replaced. */
    const start = ({ command = image, environment = {}, deploy: { replicas } = { replicas: 1 } }: Service) => {
      const env = Object.entries(environment).map(([name, value]) => {
        const given = value.replace('redis://redis:6379', server.url().replace(/\/0$/, ''))
        return [name, given.replace(/^\$\{HIGHKIQ_WEB_TOKEN:\?.*\}$/, token)]
      })
      const known = { ...Object.fromEntries(env), PORT: String(port), HOST: '127.0.0.1' }
      return Array.from({ length: replicas }, () => project.start(command as string[], known))
    }
    const [web] = start(services.web as Service) as [ChildProcess]
    await written(web, /pushes jobs/)
    const workers = start(services.worker as Service)
    expect([Object.keys(services).sort(), workers.length]).toEqual([['web', 'worker'], 2])

    const url = `http://localhost:${port}`
    const headers = { authorization: `Bearer ${token}` }
    expect((await fetch(`${url}/jobs/api/v1/stats`)).status).toBe(401)
    const processes = async () => (await fetch(`${url}/jobs/api/v1/processes`, { headers })).json()
    await expect.poll(processes).toMatchObject({ items: [{}, {}] })
    const sent = Promise.race(workers.map((worker) => written(worker, /"name":"bob".*welcome sent/)))
    expect((await fetch(`${url}/welcome?name=bob`, { method: 'POST' })).status).toBe(202)
    await sent
    // A store that is away fails the request, and not the web server.
    await server.kill()
    expect((await fetch(`${url}/welcome?name=eve`, { method: 'POST' })).status).toBe(500)
    await server.start()
    await expect.poll(async () => (await fetch(`${url}/welcome?name=eve`, { method: 'POST' })).status).toBe(202)
    await stop(...workers, web)
  })
})
