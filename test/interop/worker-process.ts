import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { pathOf } from '../programs/program.ts'
import { sidekiq } from './program.ts'

export interface WorkerOptions {
  queues: string[]
  concurrency?: number
}

/** A process that works, in either language. It ends with the process that started it. */
export class WorkerProcess {
  readonly #process: ChildProcessByStdio<Writable, Readable, Readable>
  readonly started: Promise<void>
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  /** What it wrote, and what of that to its standard error. */
  log = ''
  errors = ''

  constructor([program, ...args]: [string, ...string[]], env: Record<string, string> = {}) {
    const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'pipe'] })
    this.#process = child
    this.exited = once(child, 'close').then(([code, signal]) => ({ code, signal }))
    this.started = new Promise((resolve, reject) => {
      createInterface({ input: child.stdout }).on('line', (line) => {
        this.log += `${line}\n`
        if (line === 'started') resolve()
      })
      child.on('close', () => reject(new Error(`it ended before it had started:\n${this.log}`)))
    })
    // Who does not wait for its start learns of its end.
    this.started.catch(() => {})
    child.stderr.on('data', (chunk) => {
      this.log += chunk
      this.errors += chunk
    })
  }

  get pid(): number {
    return this.#process.pid as number
  }

  /** Sends a signal, and waits for its end. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    this.#process.kill(signal)
    await this.exited
  }
}

/** Ruby's `sidekiq`. */
export function rubyWorker(url: string, { queues, concurrency = 5 }: WorkerOptions): WorkerProcess {
  const options = ['-r', file('ruby/worker.rb'), '-e', 'test', '-g', 'rubies', '-c', String(concurrency)]
  const program = pathOf(sidekiq) ?? 'sidekiq'
  return new WorkerProcess([program, ...options, ...queues.flatMap((queue) => ['-q', queue])], { REDIS_URL: url })
}

/** A Highkiq process. */
export function nodeWorker(url: string, options: WorkerOptions): WorkerProcess {
  return new WorkerProcess([process.execPath, file('worker.js'), url, JSON.stringify(options)])
}

function file(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url))
}
