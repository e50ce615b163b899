/** The real command line, as a child process in a folder of its own. */

import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { test as plainTest } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
export const MAIN = join(ROOT, 'dist/cli/main.js')

export interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

/** A test with a folder of its own, which goes away with it, and so do the processes that it started. */
export const test = plainTest.extend<{ folder: Folder }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads from the pattern what a fixture needs
  folder: async ({}, use) => {
    const folder = new Folder()
    await use(folder)
    await folder.remove()
  },
})

/** A folder where `import 'highkiq'` finds this checkout. */
export class Folder {
  readonly path = mkdtempSync(join(tmpdir(), 'highkiq-cli-'))
  readonly #running = new Set<Running>()

  constructor() {
    mkdirSync(join(this.path, 'node_modules'))
    symlinkSync(ROOT, join(this.path, 'node_modules/highkiq'), 'junction')
  }

  async remove(): Promise<void> {
    for (const running of this.#running) running.kill('SIGKILL')
    await Promise.all([...this.#running].map(({ ended }) => ended))
    rmSync(this.path, { recursive: true, force: true })
  }

  write(files: Record<string, string | Uint8Array>): void {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(this.at(name)), { recursive: true })
      writeFileSync(this.at(name), text)
    }
  }

  at(name: string): string {
    return join(this.path, name)
  }

  start(args: string[], env: Record<string, string> = {}): Running {
    const running = new Running(args, this.path, env)
    this.#running.add(running)
    return running
  }

  run(args: string[], env: Record<string, string> = {}): Promise<Ended> {
    return this.start(args, env).ended
  }

  /** What a program of the folder prints. */
  node(file: string): Promise<string> {
    return promisify(execFile)(process.execPath, [file], { cwd: this.path }).then(({ stdout }) => stdout)
  }

  /** What a command prints with `--json`. */
  async json<T>(...args: string[]): Promise<T> {
    const { stdout, stderr } = await this.run([...args, '--json'])
    if (stdout === '') throw new Error(stderr)
    return JSON.parse(stdout) as T
  }
}

export class Running {
  readonly ended: Promise<Ended>
  readonly #child: ChildProcess
  #closed = false
  #stdout = ''
  #stderr = ''
  #waiting: (() => void)[] = []

  constructor(args: string[], cwd: string, env: Record<string, string>) {
    const { PATH = '', HOME = '' } = process.env
    this.#child = spawn(process.execPath, [MAIN, ...args], { cwd, env: { PATH, HOME, ...env }, stdio: 'pipe' })
    this.#child.stdout?.on('data', (text) => this.#notify(() => (this.#stdout += text)))
    this.#child.stderr?.on('data', (text) => this.#notify(() => (this.#stderr += text)))
    this.ended = new Promise((resolve) => {
      this.#child.on('close', (code) => {
        this.#closed = true
        resolve({ code, stdout: this.#stdout, stderr: this.#stderr })
        this.#notify(() => {})
      })
    })
  }

  /** What it has written so far. */
  get stdout(): string {
    return this.#stdout
  }

  get pid(): number {
    return this.#child.pid as number
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** Resolves when standard error matches `n` times, to the groups of each match. */
  async waitFor(what: RegExp, n = 1): Promise<string[][]> {
    for (;;) {
      const found = [...this.#stderr.matchAll(new RegExp(what, `g${what.flags}`))]
      if (found.length >= n) return found.map(([, ...groups]) => groups)
      if (this.#closed) throw new Error(`ended before its standard error matched ${what}:\n${this.#stderr}`)
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
  }

  #notify(note: () => unknown): void {
    note()
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}
