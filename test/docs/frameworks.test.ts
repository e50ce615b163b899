import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../redis/port.ts'
import { emptyServer } from '../redis/server.ts'
import { onRedis } from '../redis/suite.ts'
import { Example } from './example.ts'
import { written } from './packed.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const SESSION = 'only-the-test-knows-it'
const PACKAGES = { express: ['express'], fastify: ['fastify'], hono: ['hono', '@hono'], http: [] }
const NAMES = Object.keys(PACKAGES) as (keyof typeof PACKAGES)[]

/** The app of the page in a folder of its own. */
class Shop {
  readonly #folder: string
  readonly #name: string
  readonly #env: NodeJS.ProcessEnv
  readonly #port: number

  constructor(name: keyof typeof PACKAGES, port: number, url: string) {
    this.#folder = new Example('docs/frameworks.md', ['jobs.ts', 'shop.ts', `${name}.ts`], PACKAGES[name]).folder
    this.#name = name
    this.#port = port
    const { VITEST: _, NODE_ENV: __, ...env } = process.env
    const own = { ADMIN_SESSION: SESSION, PORT: `${port}`, PUBLIC_URL: `${this.#at('/jobs')}`, HIGHKIQ_URL: url }
    this.#env = { ...env, ...own }
  }

  start(args: string[], more: Record<string, string> = {}): ChildProcess {
    const tsx = join(root, 'node_modules/tsx/dist/loader.mjs')
    const child = spawn(process.execPath, ['--import', tsx, ...args], {
      cwd: this.#folder,
      env: { ...this.#env, ...more },
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    return child
  }

  /** Starts the server, and resolves when it answers. */
  async serve(more?: Record<string, string>): Promise<ChildProcess> {
    const server = this.start([`${this.#name}.ts`], more)
    let stderr = ''
    server.stderr?.on('data', (text) => {
      stderr += text
    })
    await expect
      .poll(() => (server.exitCode === null ? this.get('/').then(({ status }) => status) : stderr), { timeout: 90_000 })
      .toBe(401)
    return server
  }

  get(path: string, init: RequestInit = {}): Promise<Response> {
    return fetch(this.#at(path), init).catch(() => new Response(null, { status: 503 }))
  }

  /** A request with the session of the app. */
  as(path: string, init: RequestInit & { headers?: Record<string, string> } = {}): Promise<Response> {
    return this.get(path, { ...init, headers: { ...init.headers, cookie: `a=b; session=${SESSION}` } })
  }

  #at(path: string): string {
    return `http://127.0.0.1:${this.#port}${path}`
  }
}

/** Uses each part of the page. `worker` is the process that runs the jobs. */
async function works(shop: Shop, server: ChildProcess, worker: ChildProcess): Promise<void> {
  const saved = written(worker, /"sku":"A-1".*saved/)
  const product = JSON.stringify({ sku: 'A-1', price: '5' })
  const pushed = await shop.as('/prices', {
    method: 'POST',
    body: product,
    headers: { 'content-type': 'application/json' },
  })
  expect([pushed.status, await pushed.json()]).toEqual([202, { jid: expect.any(String) }])
  await saved
  const malformed = await shop.as('/prices', {
    method: 'POST',
    body: '{"sku":',
    headers: { 'content-type': 'application/json' },
  })
  expect([malformed.status, await malformed.text()]).toEqual([400, expect.stringContaining('JSON')])

  expect(await (await shop.as('/')).text()).toContain('/imports')
  const upload = (body: string) =>
    shop.as('/imports', { method: 'POST', body, headers: { 'content-type': 'application/octet-stream' } })
  const refused = await upload('')
  expect([refused.status, refused.headers.get('content-type')]).toEqual([400, expect.not.stringContaining('html')])
  expect(await refused.text()).toContain('empty')
  // The fault comes when rows before it run already, and when most of the request is still to come.
  const faulty = await upload(`sku,price\n${'B-0,5\n'.repeat(20_000)}B-1,"5" no\n${'B-0,5\n'.repeat(500_000)}`)
  expect([faulty.status, await faulty.text()]).toEqual([
    400,
    expect.stringMatching(/row 20002\b.*\/jobs\/tasks\/\w+\?token=/s),
  ])
  const { link } = (await (await upload('sku,price\nB-1,5\nB-2,no\n')).json()) as { link: string }
  expect(link).toMatch(/\/jobs\/tasks\/\w+\?token=/)
  const [, task] = /\/jobs(\/tasks\/\w+)/.exec(link) ?? []
  const status = async () => (await shop.as(`/jobs/api/v1${task}`)).json()
  await expect.poll(status, { timeout: 90_000 }).toMatchObject({ state: 'done', counts: { finished: 1, failed: 1 } })
  // The link needs no login, and the dashboard needs that of the app.
  expect(await (await fetch(link)).text()).toContain('rows')
  expect((await shop.get('/jobs/api/v1/stats')).status).toBe(401)
  expect((await shop.as('/jobs/api/v1/stats')).status).toBe(200)
  const dashboard = await shop.as('/jobs/', { headers: { accept: 'text/html' } })
  expect([dashboard.status, await dashboard.text()]).toEqual([200, expect.stringContaining('<html')])

  // A stream that a browser has open does not keep the server from ending.
  const stream = await shop.as(`/jobs/api/v1${task}/stream`)
  const live = await shop.as('/jobs/api/v1/live')
  expect([stream.status, live.status]).toEqual([200, 200])
  const ended = once(server, 'exit')
  server.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
  await Promise.all([stream, live].map(({ body }) => body?.cancel().catch(() => {})))
}

test.each(NAMES)(
  'the %s app of docs/frameworks.md works with its worker in the server',
  {
    timeout: 300_000,
  },
  async (name) => {
    const shop = new Shop(name, await freePort(), 'sqlite:shop.db')
    const server = await shop.serve({ WORKER: '1' })
    await works(shop, server, server)
  },
)

onRedis('with workers of their own', () => {
  test.each(NAMES)('the %s app of docs/frameworks.md works on Redis', { timeout: 300_000 }, async (name) => {
    const { port } = await emptyServer()
    const shop = new Shop(name, await freePort(), `redis://127.0.0.1:${port}/0`)
    const worker = shop.start([join(root, 'dist/cli/main.js'), 'work', '-r', 'jobs.ts'])
    await written(worker, /"concurrency":/)
    const server = await shop.serve()
    await works(shop, server, worker)
    worker.kill('SIGTERM')
    expect(await once(worker, 'exit')).toEqual([0, null])
  })
})
