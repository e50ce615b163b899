/** The Ruby side: a console that runs what a test says, and worker processes. */

import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { sidekiq } from './program.ts'

const file = (name: string) => fileURLToPath(new URL(`ruby/${name}`, import.meta.url))

/** A Ruby with Sidekiq's client and API. It ends with the process that started it. */
export class RubyConsole {
  readonly #process: ChildProcessByStdio<Writable, Readable, null>
  readonly #waiting: { resolve: (answer: unknown) => void; reject: (error: Error) => void }[] = []

  constructor(url: string) {
    this.#process = spawn('ruby', [file('console.rb')], {
      env: { ...process.env, REDIS_URL: url },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    createInterface({ input: this.#process.stdout }).on('line', (line) => {
      const { answer, error } = JSON.parse(line) as { answer?: unknown; error?: string }
      const waiting = this.#waiting.shift()
      if (error === undefined) waiting?.resolve(answer)
      else waiting?.reject(new Error(error))
    })
    this.#process.on('close', () => {
      for (const { reject } of this.#waiting.splice(0)) reject(new Error('the Ruby console has ended'))
    })
  }

  /** Runs Ruby code, which finds `args` in a variable of that name; answers its value, if JSON can carry it. */
  run<T = unknown>(code: string, args: unknown = null): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve: resolve as (answer: unknown) => void, reject })
      this.#process.stdin.write(`${JSON.stringify({ code, args })}\n`)
    })
  }

  async end(): Promise<void> {
    this.#process.stdin.end()
    if (this.#process.exitCode === null) await once(this.#process, 'close')
  }
}

/** A `sidekiq` process. It ends with the process that started it. */
export class RubyWorker {
  readonly process: ChildProcess
  readonly started: Promise<void>
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  /** What it wrote. */
  log = ''

  constructor(url: string, { queues, concurrency = 5 }: { queues: string[]; concurrency?: number }) {
    const args = ['-r', file('worker.rb'), '-e', 'test', '-t', '5', '-g', 'rubies', '-c', String(concurrency)]
    const child = spawn(sidekiq.find() ?? 'sidekiq', [...args, ...queues.flatMap((queue) => ['-q', queue])], {
      env: { ...process.env, REDIS_URL: url },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    this.process = child
    this.exited = once(child, 'close').then(([code, signal]) => ({ code, signal }))
    this.started = new Promise((resolve, reject) => {
      createInterface({ input: child.stdout }).on('line', (line) => {
        this.log += `${line}\n`
        if (line === 'started') resolve()
      })
      child.on('close', () => reject(new Error(`sidekiq ended before it had started:\n${this.log}`)))
    })
    child.stderr.on('data', (chunk) => {
      this.log += chunk
    })
  }

  get pid(): number {
    return this.process.pid as number
  }

  /** Sends a signal, and waits for its end. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    this.process.kill(signal)
    await this.exited
  }
}
