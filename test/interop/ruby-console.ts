import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'

const PROGRAM = fileURLToPath(new URL('ruby/console.rb', import.meta.url))

/** A Ruby with Sidekiq's client and API. It ends with the process that started it. */
export class RubyConsole {
  readonly #process: ChildProcessByStdio<Writable, Readable, null>
  readonly #waiting: { resolve: (answer: unknown) => void; reject: (error: Error) => void }[] = []

  constructor(url: string) {
    this.#process = spawn('ruby', [PROGRAM], {
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
