import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Highkiq } from 'highkiq'
import { serve } from 'highkiq/http'
import { expect, onTestFinished, test } from 'vitest'
import { startProxy } from '../redis/proxy.ts'
import { emptyServer } from '../redis/server.ts'
import { onRedis } from '../redis/suite.ts'
import { Example } from './example.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Loads the function once and calls it for each line, as the runtime of Lambda does for each event. */
const RUNTIME = `
import { createInterface } from 'node:readline'

const { handler } = await import(process.argv[2])
for await (const event of createInterface({ input: process.stdin })) {
  const answer = await handler(JSON.parse(event)).catch((error) => ({ error: error.message }))
  console.log(JSON.stringify(answer))
}
`

/** An instance of a function of the page. */
class Instance {
  readonly #child: ChildProcess
  readonly #answers: AsyncIterator<string>

  constructor(file: string, url: string) {
    const { folder } = new Example('docs/serverless.md', [file])
    writeFileSync(join(folder, 'runtime.js'), RUNTIME)
    const { VITEST: _, ...env } = process.env
    const loader = join(root, 'node_modules/tsx/dist/loader.mjs')
    this.#child = spawn(process.execPath, ['--import', loader, 'runtime.js', `./${file}`], {
      cwd: folder,
      env: { ...env, HIGHKIQ_URL: url },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    onTestFinished(() => void this.#child.kill('SIGKILL'))
    this.#answers = createInterface({ input: this.#child.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]()
  }

  send(picture: number): void {
    this.#child.stdin?.write(`${JSON.stringify({ picture })}\n`)
  }

  async answer(): Promise<{ statusCode: number; jid: string }> {
    const { statusCode, body, error } = JSON.parse((await this.#answers.next()).value)
    expect(error).toBeUndefined()
    return { statusCode, jid: JSON.parse(body).jid }
  }

  async call(picture: number): Promise<string> {
    this.send(picture)
    const { statusCode, jid } = await this.answer()
    expect(statusCode).toBe(202)
    return jid
  }

  freeze(): void {
    this.#child.kill('SIGSTOP')
  }

  thaw(): void {
    this.#child.kill('SIGCONT')
  }

  /** Ends by itself when no more events come. */
  async end(): Promise<void> {
    const ended = once(this.#child, 'exit')
    this.#child.stdin?.end()
    expect(await ended).toEqual([0, null])
  }
}

/** The pictures of the waiting jobs. */
async function picturesIn(url: string): Promise<unknown[]> {
  const hq = new Highkiq({ url })
  try {
    const jobs: unknown[] = []
    for await (const job of hq.queue('pictures')) jobs.push(job.args[0])
    return jobs.sort()
  } finally {
    await hq.close()
  }
}

onRedis('functions on Redis', () => {
  test('a function that is frozen between events pushes each job once, whatever became of its connection', {
    timeout: 180_000,
  }, async () => {
    const { port } = await emptyServer()
    const proxy = await startProxy({ port })
    onTestFinished(() => proxy.close())
    const instance = new Instance('handler.ts', proxy.url())
    await instance.call(1)

    instance.freeze()
    proxy.cutAll()
    instance.thaw()
    await instance.call(2)

    // The connection is dead, and nobody says so: what is sent gets no answer.
    instance.freeze()
    const lost = proxy.onRequest((name) => name.startsWith('EVAL'), 'hold')
    instance.thaw()
    instance.send(3)
    await lost.happened
    await instance.answer()

    // The push is stored, and its answer does not arrive before the freeze.
    const late = proxy.onRequest((name) => name.startsWith('EVAL'), 'hold-reply')
    instance.send(4)
    await late.happened
    instance.freeze()
    late.cut()
    instance.thaw()
    await instance.answer()

    expect(await picturesIn(proxy.url())).toEqual([1, 2, 3, 4])
    await instance.end()
  })

  test('a function that closes its app leaves no connection', { timeout: 180_000 }, async () => {
    const { port } = await emptyServer()
    const proxy = await startProxy({ port })
    onTestFinished(() => proxy.close())
    const instance = new Instance('once.ts', proxy.url())
    await instance.call(1)
    await instance.call(2)
    await expect.poll(() => proxy.connections).toBe(0)
    expect(await picturesIn(`redis://127.0.0.1:${port}/0`)).toEqual([1, 2])
    await instance.end()
  })
})

test('a function of an Edge runtime pushes over HTTP', { timeout: 180_000 }, async () => {
  const { folder } = new Example('docs/serverless.md', ['edge.ts'])
  const hq = new Highkiq({ url: 'sqlite::memory:' })
  const token = 'a token of 20 characters'
  const server = await serve(hq, { port: 0, auth: { bearer: token } })
  onTestFinished(async () => {
    await server.close()
    await hq.close()
  })
  expect(readFileSync(join(folder, 'edge.ts'), 'utf8')).not.toMatch(/node:|'highkiq'/)
  const { default: edge } = await import(join(folder, 'edge.ts'))
  const request = new Request('https://shop.example/', { method: 'POST', body: JSON.stringify({ picture: 7 }) })
  const answer = await edge.fetch(request, { JOBS_URL: server.url, JOBS_TOKEN: token })
  expect(answer.status).toBe(202)
  const { jid } = await answer.json()
  expect((await hq.find(jid)).payload).toMatchObject({ class: 'Resize', args: [7], queue: 'pictures' })
})
