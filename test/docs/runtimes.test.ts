import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { installPackages } from '../../scripts/install-packages.js'
import { freePort } from '../redis/port.ts'
import { emptyServer } from '../redis/server.ts'
import { onRedis } from '../redis/suite.ts'
import { Example } from './example.ts'
import { installPacked, written } from './packed.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const packages = join(root, 'node_modules/.runtimes')

/** The programs come as packages of npm: their platform's package has the program itself. */
const RUNTIMES = {
  bun: { program: '@oven/bun-linux-x64/bin/bun', args: [] as string[] },
  deno: { program: '@deno/linux-x64-glibc/deno', args: ['run', '-A', '--no-check'] },
}
type Name = keyof typeof RUNTIMES
const NAMES = Object.keys(RUNTIMES) as Name[]
const isTheirPlatform = process.platform === 'linux' && process.arch === 'x64'

class App {
  readonly #folder: string
  readonly #name: Name
  readonly #port: number
  readonly #env: NodeJS.ProcessEnv
  readonly #written: string[] = []

  constructor(name: Name, port: number, url: string) {
    installPackages(join(root, 'test/runtimes.json'), packages)
    const files = ['jobs.ts', 'app.ts', `${name}.ts`]
    this.#folder = new Example('docs/runtimes.md', files, (folder) => installPacked(folder)).folder
    this.#name = name
    this.#port = port
    const { VITEST: _, NODE_ENV: __, ...env } = process.env
    this.#env = { ...env, PORT: `${port}`, HIGHKIQ_URL: url, NO_COLOR: '1', DENO_NO_UPDATE_CHECK: '1' }
  }

  start(args: string[], more: Record<string, string> = {}): ChildProcess {
    const { program, args: own } = RUNTIMES[this.#name]
    const path = join(packages, 'node_modules', program)
    // npm sets this right in a script of the package, and installs here without scripts.
    chmodSync(path, 0o755)
    const child = spawn(path, [...own, ...args], {
      cwd: this.#folder,
      env: { ...this.#env, ...more },
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text) => this.#written.push(String(text)))
    return child
  }

  /** What its processes have written. */
  get output(): string {
    return this.#written.join('')
  }

  async serve(more?: Record<string, string>): Promise<ChildProcess> {
    const server = this.start([`${this.#name}.ts`], more)
    const answers = () => this.get('/jobs/healthz').then(({ status }) => status)
    await expect.poll(() => (server.exitCode === null ? answers() : this.output), { timeout: 90_000 }).toBe(200)
    return server
  }

  work(): ChildProcess {
    return this.start(['node_modules/highkiq/dist/cli/main.js', 'work', '-r', 'jobs.ts'])
  }

  get(path: string): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.#port}${path}`, { headers: { accept: 'text/html, */*' } }).catch(
      () => new Response(null, { status: 503 }),
    )
  }
}

/** Uses each part of the page. `worker` is the process that runs the jobs. */
async function works(app: App, server: ChildProcess, worker: ChildProcess): Promise<void> {
  const sent = written(worker, /"name":"ann".*welcome sent/)
  const pushed = await app.get('/?name=ann')
  expect([pushed.status, await pushed.json()]).toEqual([202, { jid: expect.any(String) }])
  await sent
  const stats = async () => (await app.get('/jobs/api/v1/stats')).json()
  await expect.poll(stats, { timeout: 20_000 }).toMatchObject({ processed: 1 })
  const dashboard = await app.get('/jobs/')
  expect([dashboard.status, await dashboard.text()]).toEqual([200, expect.stringContaining('<html')])
  // An open page of the dashboard must not keep the server from stopping.
  const stream = await app.get('/jobs/api/v1/live')
  expect(stream.headers.get('content-type')).toContain('text/event-stream')
  for (const child of new Set([worker, server])) {
    const closed = once(child, 'close')
    child.kill('SIGTERM')
    expect(await closed).toEqual([0, null])
  }
  expect(app.output).not.toMatch(/"level":[456]0|error|warn/i)
}

test.runIf(isTheirPlatform).each(NAMES)(
  'the app of docs/runtimes.md runs on %s with SQLite',
  { timeout: 300_000 },
  async (name) => {
    const app = new App(name, await freePort(), 'sqlite:shop.db')
    const server = await app.serve({ WORKER: '1' })
    await works(app, server, server)
  },
)

onRedis('with Redis', () => {
  test.runIf(isTheirPlatform).each(NAMES)(
    'the app and a worker of docs/runtimes.md run on %s',
    { timeout: 300_000 },
    async (name) => {
      const { port } = await emptyServer()
      const app = new App(name, await freePort(), `redis://127.0.0.1:${port}/0`)
      const worker = app.work()
      await written(worker, /"concurrency":/)
      await works(app, await app.serve(), worker)
    },
  )
})

test('docs/runtimes.md names the versions that its app was tested with', () => {
  const page = readFileSync(join(root, 'docs/runtimes.md'), 'utf8')
  const { dependencies } = JSON.parse(readFileSync(join(root, 'test/runtimes.json'), 'utf8'))
  const minor = (name: Name) => dependencies[name].split('.').slice(0, 2).join('.')
  expect(page).toContain(`Bun ${minor('bun')} and Deno ${minor('deno')}`)
})
