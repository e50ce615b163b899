/** An example as its README starts it, in a folder of its own. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Browser, chromium as driver, type Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import { chromium } from '../http/program.ts'
import { pathOf, reasonVariable } from '../programs/program.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const START = 'npm install && npm start'

/** A copy of it. `npm install` needs no test: what it does is to link the checkout, which is done here. */
function copyOf(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'highkiq-example-'))
  const source = join(ROOT, 'examples', name)
  expect(readFileSync(join(source, 'README.md'), 'utf8')).toContain(`\`\`\`sh\n${START}\n\`\`\``)
  cpSync(source, folder, { recursive: true, filter: (path) => !/node_modules|\.db|\.xlsx/.test(path) })
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(ROOT, join(folder, 'node_modules/highkiq'))
  // In a clone it is found above.
  symlinkSync(join(ROOT, 'node_modules/libsql'), join(folder, 'node_modules/libsql'))
  return folder
}

function start(folder: string, env: Record<string, string>): ChildProcess {
  const { PATH = '', HOME = '' } = process.env
  const all = { PATH, HOME, PORT: '0', HIGHKIQ_LOG_LEVEL: 'warn', ...env }
  // Of its own group, for npm starts a shell, which starts the app.
  return spawn('npm', ['start', '--silent'], { cwd: folder, env: all, detached: true, stdio: 'pipe' })
}

/** Of an example that ends by itself: what it says. */
export async function said(name: string, env: Record<string, string> = {}): Promise<string> {
  const folder = copyOf(name)
  const child = start(folder, env)
  let text = ''
  child.stdout?.on('data', (data: Buffer) => {
    text += data
  })
  child.stderr?.on('data', (data: Buffer) => {
    text += data
  })
  const [code] = await once(child, 'close')
  rmSync(folder, { recursive: true, force: true })
  expect(code, text).toBe(0)
  return text
}

/** One that serves a page until it is stopped. */
export class Example {
  readonly folder: string
  readonly url: Promise<string>
  readonly #child: ChildProcess
  #said = ''

  constructor(name: string, env: Record<string, string> = {}) {
    this.folder = copyOf(name)
    this.#child = start(this.folder, env)
    this.url = this.#whenListening()
    onTestFinished(() => this.#stop())
  }

  /** What the app took until now: seconds of CPU time, and its highest resident memory in MB. */
  get cost(): { cpu: number; memory: number } {
    // npm and its shell are there, too.
    const costs = descendants([String(this.#child.pid)]).map((pid) => {
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
        .replace(/^.*\) /, '')
        .split(' ')
      const [, kB] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
      const isApp = readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith('node\0app.js')
      return { isApp, cpu: (Number(fields[11]) + Number(fields[12])) / 100, memory: Math.round(Number(kB) / 1024) }
    })
    const app = costs.find(({ isApp }) => isApp)
    if (!app) throw new Error('no process runs app.js')
    return app
  }

  #whenListening(): Promise<string> {
    return new Promise((resolve, reject) => {
      const hear = (text: Buffer) => {
        this.#said += text
        const [, url] = /(http:\/\/127\.0\.0\.1:\d+)/.exec(this.#said) ?? []
        if (url) resolve(url)
      }
      this.#child.stdout?.on('data', hear)
      this.#child.stderr?.on('data', hear)
      this.#child.once('close', () => reject(new Error(`it ended: ${this.#said}`)))
    })
  }

  /** Presses Ctrl-C: a terminal sends it to npm, its shell and the app. Resolves with what they have said when all have ended. */
  async ended(signal: NodeJS.Signals = 'SIGINT'): Promise<string> {
    const closed = once(this.#child, 'close')
    process.kill(-(this.#child.pid as number), signal)
    await closed
    return this.#said
  }

  async #stop(): Promise<void> {
    this.url.catch(() => {})
    if (this.#child.exitCode === null && this.#child.signalCode === null) await this.ended('SIGTERM')
    rmSync(this.folder, { recursive: true, force: true })
  }
}

function descendants(pids: readonly string[]): string[] {
  return pids.filter(Boolean).flatMap((pid) => {
    const below = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
    return [pid, ...descendants(below)]
  })
}

/** The page of an example in a real browser, and what went wrong on it; undefined where there is no browser. */
export async function openPage(url: string): Promise<{ page: Page; faults: string[] } | undefined> {
  if (process.env[reasonVariable(chromium)] && !process.env.CI) return undefined
  const browser: Browser = await driver.launch({ executablePath: pathOf(chromium) as string, args: ['--no-sandbox'] })
  onTestFinished(() => browser.close())
  const page = await browser.newPage()
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(message.text())
  })
  await page.goto(url)
  return { page, faults }
}

/** What an answer of JSON has. @throws what the server says instead */
export async function json<T>(answer: Response | Promise<Response>): Promise<T> {
  const response = await answer
  const body = await response.text()
  if (!response.ok) throw new Error(`${response.status} ${body}`)
  return JSON.parse(body) as T
}

export interface Status {
  id: string
  state: string
  run: number
  total: number
  counts: Record<'finished' | 'failed' | 'error' | 'enqueued', number>
}

/** Follows a task by its server-sent events until it is done. @returns all that they told */
export async function follow(url: string, id: string): Promise<Status[]> {
  const response = await fetch(`${url}/api/v1/tasks/${id}/stream`)
  const text = await response.text()
  expect(text).toMatch(/event: done/)
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data as string) as Status)
}
