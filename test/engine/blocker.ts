import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { Child, type ChildMessage, until } from './bench.ts'

/** A process whose jobs block until they are released: blocker.js URL OPTIONS. It is killed at the end of the test. */
export class Blocker {
  readonly process: ChildProcess
  readonly exited: Promise<{ code: number | null; signal: string | null }>
  /** What its jobs wait for; to be given to them. */
  readonly file: string
  readonly messages: ChildMessage[] = []
  /** The lines of its standard error, from when they are first asked for: before that nobody reads them. */
  #written: string[] | undefined

  constructor(url: string, options: Record<string, unknown> = {}) {
    const folder = mkdtempSync(join(tmpdir(), 'highkiq-blocker-'))
    this.file = join(folder, 'go')
    const program = fileURLToPath(new URL('blocker.js', import.meta.url))
    this.process = spawn(process.execPath, [program, url, JSON.stringify(options)], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    onTestFinished(() => {
      this.process.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    })
    this.exited = once(this.process, 'exit').then(([code, signal]) => ({ code, signal }))
    createInterface({ input: this.process.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      this.messages.push(JSON.parse(line))
    })
  }

  all(type: string): ChildMessage[] {
    return this.messages.filter((message) => message.type === type)
  }

  /** Resolves to all messages of this type, once there are `n`. */
  async waitFor(type: string, n = 1): Promise<ChildMessage[]> {
    await until(() => this.all(type).length >= n)
    return this.all(type)
  }

  /** Resolves to the first `n` warnings on its standard error whose text matches; it need not be able to log for them. */
  async waitForWarning(message: RegExp, n = 1): Promise<Record<string, unknown>[]> {
    const written = this.readStderr()
    const matching = () =>
      written
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line))
        .filter(({ msg }) => message.test(msg))
    await until(() => matching().length >= n)
    return matching().slice(0, n)
  }

  /** Reads its standard error from now on. */
  readStderr(): string[] {
    if (this.#written) return this.#written
    const lines: string[] = []
    this.#written = lines
    createInterface({ input: this.process.stderr as NodeJS.ReadableStream }).on('line', (line) => lines.push(line))
    return lines
  }

  kill(signal: NodeJS.Signals): void {
    this.process.kill(signal)
  }

  /** It needs nothing but `kill`. */
  readonly freeze = Child.prototype.freeze

  /** Its jobs go on. */
  release(): void {
    writeFileSync(this.file, '')
  }
}
