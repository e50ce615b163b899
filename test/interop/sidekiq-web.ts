import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { freePort } from '../redis/port.ts'
import { WorkerProcess } from './worker-process.ts'

const PROGRAM = fileURLToPath(new URL('ruby/web.rb', import.meta.url))

/** Sidekiq Web, seen as a browser without scripts sees it. */
export class SidekiqWeb {
  readonly #address: string
  #cookie = ''

  constructor(port: number) {
    this.#address = `http://127.0.0.1:${port}`
  }

  /** A page's HTML. */
  async page(path: string): Promise<string> {
    const response = await this.#ask(path)
    if (response.status !== 200) throw new Error(`${path} answered ${response.status}`)
    return response.text()
  }

  /** The page as people read it: its texts, with a space between them. */
  async text(path: string): Promise<string> {
    const html = await this.page(path)
    const texts = html.replace(/<script[\s\S]*?<\/script>|<[^>]*>/g, ' ').replace(/\s+/g, ' ')
    const characters: Record<string, string> = { quot: '"', '#x27': "'", '#39': "'", lt: '<', gt: '>', '#x2F': '/' }
    return texts.replace(/&(#?\w+);/g, (whole, name) => (name === 'amp' ? '&' : (characters[name] ?? whole)))
  }

  /** Presses a button of the page at `path`: its form's fields, sent to where the form points. */
  async press(path: string, fields: Record<string, string>, to = path): Promise<void> {
    const token = /name='authenticity_token' value='([^']+)'/.exec(await this.page(path))?.[1] ?? ''
    const body = new URLSearchParams({ ...fields, authenticity_token: token })
    const response = await this.#ask(to, { method: 'POST', body, redirect: 'manual' })
    if (response.status !== 302) throw new Error(`${to} answered ${response.status}: ${await response.text()}`)
  }

  async #ask(path: string, options: RequestInit = {}): Promise<Response> {
    const response = await fetch(this.#address + path, { ...options, headers: { cookie: this.#cookie } })
    this.#cookie = response.headers.getSetCookie()[0]?.split(';')[0] ?? this.#cookie
    return response
  }
}

/** Started, and ended at the end of the test. */
export async function sidekiqWeb(url: string): Promise<SidekiqWeb> {
  const port = await freePort()
  const server = new WorkerProcess(['ruby', PROGRAM, String(port)], { REDIS_URL: url })
  onTestFinished(() => server.end('SIGKILL'))
  await server.started
  return new SidekiqWeb(port)
}
